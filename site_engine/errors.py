"""What can go wrong while actions are carried out, in words for the person who has to act on it."""

from __future__ import annotations

from collections.abc import Sequence


class EngineError(Exception):
    """Something that the engine was to do could not be done."""


class SettingsError(EngineError):
    """A field of the provisioner's connection cannot be used: correct it under Admin > Connections."""


class NoConnection(SettingsError):
    """There is no connection to a site's provisioner: create one of these names and types."""

    def __init__(self, site: str, own: str, shared: str, types: Sequence[str]) -> None:
        self._said = f"no provisioner for site {site}: create an Airflow connection {own!r} or {shared!r} of type "
        super().__init__(self._said + " or ".join(types))

    def of_type(self, name: str) -> str:
        """Say it of a site of which it is known what its provisioner is."""
        return self._said + name


class Conflict(EngineError):
    """What is asked for cannot be done as things are: the message says what comes first.

    ``title`` is what the answer is called; ``retry``: the same may succeed later.
    """

    def __init__(self, title: str, message: str, *, retry: bool = False) -> None:
        super().__init__(message)
        self.title, self.retry = title, retry


class UnknownNodes(EngineError):
    """What is named is not in the site's design: the error names the nearest."""


class ConnectionLookupFailed(EngineError):
    """A connection could not be looked up in Airflow: try again. That there is none is not known."""


class ConnectionMissing(ConnectionLookupFailed):
    """The connection that an action uses was deleted in Airflow: create it again."""


class NotDelivered(EngineError):
    """The receiver did not take the notification: it is tried again later. The message has no secret."""


class StepError(EngineError):
    """A step of the action failed, and repeating it by itself would not help: the message says what to mend."""


class TaskStopped(EngineError):
    """A task was told to stop, so it went no further. Started again, it goes on from the store."""


class AirflowApiError(EngineError):
    """Airflow's own API did not answer as it should: see the API server's log, and ``[api] base_url``.

    Whether what was asked for has happened is not known.
    """


class AirflowRefused(AirflowApiError):
    """Airflow's own API refused; nothing has happened. ``status`` is its HTTP status, below 500."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class AccountRefused(AirflowApiError):
    """Airflow does not know this process's own account, or not with this password: correct it. Nothing has happened."""
