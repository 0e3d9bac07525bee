"""What can go wrong with the store, in words for the person who has to act on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from site_store.design_records import DocumentKey
    from site_store.records import LockOwner
    from strategy_lib.node_states.publication import Version as SiteVersion


class StoreError(Exception):
    """The store could not do what was asked."""


class PlaceTaken(StoreError):
    """As many groups are at work as may be (rule 8): the group begins once one of them has its verdict."""


class StoreUnavailable(StoreError):
    """The database could not be reached or was too busy; nothing was changed, so try again."""


class StoreNotConfigured(StoreError):
    """No usable database is named: set SLIPWAY_DATABASE_URL, or SLIPWAY_HOME to the home of a `slipway up`."""


class SchemaNotCurrent(StoreError):
    """The database is not at the schema of this version of Slipway: run `slipway store upgrade`."""


class ValueRefused(StoreError):
    """A value cannot be stored, or changes nothing: change the value."""


class NotFound(StoreError):
    """There is no such action, group or reporter: list them, and name one of them."""


class RevisionNotFound(NotFound):
    """There is no such revision of this site: commit the site's documents first, or name an existing revision."""


class VersionNotFound(RevisionNotFound):
    """The site has no such version of its documents (yet): name another, or bring it about first."""


class SiteInUse(StoreError):
    """A site is taken away only where nobody watches it and no action is open: end its action, and stop its demo."""


class BufferNotEmpty(StoreError):
    """The buffer holds collections: commit them, discard them, or choose another buffer mode."""


class BufferEmpty(StoreError):
    """There is nothing to commit: put a collection into the buffer first."""


class BufferChanged(StoreError):
    """Somebody changed the buffer meanwhile: look at it again, then repeat."""


class VersionChanged(StoreError):
    """It was changed since it was read: look at it again, then repeat.

    Attributes
    ----------
    what : what was to be changed, in words.
    wanted, version : the version that it was to have, and the one that it has; of several things together a text.
    """

    def __init__(self, what: str, wanted: int | str, version: int | str) -> None:
        super().__init__(f"{what} is at version {version} now, and not at {wanted}: look at it again, then repeat")
        self.what, self.wanted, self.version = what, wanted, version

    def __reduce__(self) -> tuple[type[VersionChanged], tuple[str, int | str, int | str]]:
        """Pickle by its facts, so that the error survives the way between processes."""
        return (type(self), (self.what, self.wanted, self.version))


class DocumentElsewhere(StoreError):
    """A document is in another collection already: change it there, or take it away there first.

    Attributes
    ----------
    found : each such document, with the collection that holds it.
    """

    def __init__(self, found: Sequence[tuple[DocumentKey, str]]) -> None:
        self.found = tuple(found)
        (schema, layer, name), collection = self.found[0]
        more = f", and {len(self.found) - 1} more are elsewhere too" if len(self.found) > 1 else ""
        where = f" of layer {layer!r}" if layer else ""
        super().__init__(
            f"the document {schema} {name!r}{where} is in collection {collection!r} already{more}: "
            "change it there, or take it away there first"
        )

    def __reduce__(self) -> tuple[type[DocumentElsewhere], tuple[tuple[tuple[DocumentKey, str], ...]]]:
        """Pickle by what was found, so that the error survives the way between processes."""
        return (type(self), (self.found,))


class EventNotFound(NotFound):
    """There is no such event (any more): events are deleted after a while."""


class SiteStateChanged(StoreError):
    """A newer version of the states of the site's nodes was published since this was planned: plan again by that one.

    Attributes
    ----------
    newest : that version.
    """

    def __init__(self, message: str, newest: SiteVersion) -> None:
        super().__init__(message)
        self.newest = newest


class LeaseLost(StoreError):
    """A lease has run out or was given up, and another process may have it: nothing was written; take it again."""


class ReporterRefused(StoreError):
    """The token opens nothing (any more), or another site: have a reporter made for this site."""


class TooManyReports(StoreError):
    """A reporter has written too much or too often: nothing was written.

    Attributes
    ----------
    retry_after : seconds to wait; None where waiting does not help.
    """

    def __init__(self, message: str, retry_after: int | None) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[type[TooManyReports], tuple[str, int | None]]:
        """Pickle by its two facts, so that the error survives the way between processes."""
        return (type(self), (str(self), self.retry_after))


class SiteBusy(StoreError):
    """Another action is working on this site: wait for it to end, or cancel it.

    Attributes
    ----------
    site : the site that was asked for.
    owner : who holds it.
    """

    def __init__(self, site: str, owner: LockOwner) -> None:
        does = "is to start on it since" if owner.waiting else "works on it since"
        run = "" if owner.run_id is None else f"run {owner.run_id!r} of "
        super().__init__(
            f"site {site!r} is busy: action {owner.action_id} ({run}DAG {owner.dag_id!r}) "
            f"{does} {owner.acquired:%Y-%m-%d %H:%M:%S} UTC; wait for it to end, or cancel it"
        )
        self.site = site
        self.owner = owner

    def __reduce__(self) -> tuple[type[SiteBusy], tuple[str, LockOwner]]:
        """Pickle by its two facts, so that the error survives the way between processes."""
        return (type(self), (self.site, self.owner))
