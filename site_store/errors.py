"""What can go wrong with the store, in words for the person who has to act on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from site_store.records import LockOwner


class StoreError(Exception):
    """The store could not do what was asked."""


class StoreUnavailable(StoreError):
    """The database could not be reached or was too busy; nothing was changed, so try again."""


class StoreNotConfigured(StoreError):
    """No usable database is named: set SLIPWAY_DATABASE_URL, or SLIPWAY_HOME to a directory that can be written."""


class SchemaNotCurrent(StoreError):
    """The database is not at the schema of this version of Slipway: run `slipway store upgrade`."""


class RevisionNotFound(StoreError):
    """There is no such revision of this site: commit the site's documents first, or name an existing revision."""


class ActionNotFound(StoreError):
    """There is no such action: list the site's actions and name one of them."""


class GroupNotFound(StoreError):
    """The action's plan has no such group: name a group of the action's own strategy."""


class OperationNotFound(StoreError):
    """There is no such operation: begin it before anything is recorded for it."""


class OperationConflict(StoreError):
    """Two provisioner tasks claim to be the same operation: look at both at the provisioner before going on."""


class SiteNotHeld(StoreError):
    """The action does not hold its site, so it may start nothing: acquire the site first."""


class AttemptNotOpen(StoreError):
    """This attempt of the group is over or was replaced: open the group's attempt before it starts anything."""


class SiteBusy(StoreError):
    """Another action is working on this site: wait for it to end, or cancel it.

    Attributes
    ----------
    site : str
        The site that was asked for.
    owner : LockOwner
        Who holds it.
    """

    def __init__(self, site: str, owner: LockOwner) -> None:
        super().__init__(
            f"site {site!r} is busy: action {owner.action_id} (run {owner.run_id!r} of DAG {owner.dag_id!r}) "
            f"works on it since {owner.acquired:%Y-%m-%d %H:%M:%S} UTC; wait for it to end, or cancel it"
        )
        self.site = site
        self.owner = owner

    def __reduce__(self) -> tuple[type[SiteBusy], tuple[str, LockOwner]]:
        """Pickle by its two facts, so that the error survives the way between processes."""
        return (type(self), (self.site, self.owner))
