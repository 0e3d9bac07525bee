"""What can go wrong with the database, and what all errors of the store are. Others stand with their nouns."""

from __future__ import annotations


class StoreError(Exception):
    """The store could not do what was asked."""


class StoreUnavailable(StoreError):
    """The database could not be reached or was too busy; nothing was changed, so try again.

    Attributes
    ----------
    what, fix : what is wrong, and what to do; empty where the message says both.
    """

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(f"{what}: {fix}" if fix else what)
        self.what, self.fix = what, fix


class StoreNotConfigured(StoreError):
    """No usable database is named: set SLIPWAY_DATABASE_URL, or SLIPWAY_HOME to the home of a `slipway up`."""


class SchemaNotCurrent(StoreError):
    """The database is not at the schema of this version of Slipway: run `slipway store upgrade`."""


class SubmissionsHeld(StoreError):
    """The store may be a copy of another one, and has nothing sent: say what it is (`slipway store restored`)."""


class ValueRefused(StoreError):
    """A value cannot be stored, or changes nothing: change the value."""


class NotFound(StoreError):
    """There is no such action, group or reporter: list them, and name one of them."""


def no_action(action_id: str) -> NotFound:
    """Say that there is no action of this id."""
    return NotFound(f"there is no action {action_id!r}: list the site's actions and name one of them")


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
