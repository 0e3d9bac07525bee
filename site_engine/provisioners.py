"""How the engine reaches a site's provisioner: it is given the connection, and never looks one up itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from provisioner_client.connection import ConnectionValues, read_fields
from provisioner_client.redacting import Observer, Redact, RedactingProvisioner
from provisioner_client.shared_lists import Shared
from site_engine.errors import SettingsError

if TYPE_CHECKING:
    from site_store import ActionRecord, SiteStore

DEFAULT_CONNECTION: Final = "slipway_provisioner"
"""The connection for all sites that have none of their own."""

_DESIGNS: Final = "/slipway/d/"
SHORTEST_INTERVAL: Final = 15.0
"""Seconds: the controller looks every five, and a provisioner that nobody else asks is asked at half its interval."""


def connection_candidates(site: str) -> tuple[str, str]:
    """Return the connection ids tried for a site, in order: its own first, then the one for all sites."""
    return (f"{DEFAULT_CONNECTION}_{site}", DEFAULT_CONNECTION)


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """The fields of a connection's extra that the engine reads, whatever the backend; times in seconds."""

    poll_interval: float = 30.0
    poll_in_worker: float = 60.0
    queue_timeout: float = 86400.0
    check_in_interval: float = 60.0
    design_base_url: str | None = None


@dataclass(frozen=True, slots=True)
class ProvisionerConnection:
    """A connection to a provisioner, as it was found.

    Parameters
    ----------
    values : what is kept of it.
    slipway_url : where the provisioner finds Slipway's API, unless the connection says otherwise.
    """

    values: ConnectionValues
    slipway_url: str = "http://127.0.0.1:8080"

    @property
    def id(self) -> str:
        """The connection's name, which an action keeps."""
        return self.values.id

    @property
    def hurried(self) -> ProvisionerConnection:
        """Return this connection with short time-outs and no retries (`ConnectionValues.hurried`)."""
        return replace(self, values=replace(self.values, hurried=True))

    @property
    def backend(self) -> str:
        """What people call the provisioner that it leads to."""
        from provisioner_client.factory import FACTORY

        return FACTORY.name(self.values.type)

    @property
    def one_task_at_a_time(self) -> bool:
        """Whether the provisioner does one task after the other, so that groups side by side gain nothing."""
        return self.backend == "Drydock"

    @property
    def kind(self) -> str:
        """The kind of provisioner that it leads to, as a site's document writes it (`slipway/Site/v1`)."""
        return self.backend.lower()

    @property
    def settings(self) -> ConnectionSettings:
        """The engine's fields of it. Raises `SettingsError`: one of them cannot be used."""
        with _as_settings_error(self.id):
            return read_fields(ConnectionSettings, self.values.extra)

    @property
    def alive_for(self) -> float:
        """Seconds for which the provisioner counts as alive after an answer: longer than it may be left in peace.

        Fields that cannot be used are another's to tell of: then it is as if there were none.
        """
        try:
            settings = self.settings
        except SettingsError:
            settings = ConnectionSettings()
        return max(settings.check_in_interval, 2 * settings.poll_interval, SHORTEST_INTERVAL)

    def connect(
        self,
        redact: Redact,
        context_marker: str | None = None,
        observer: Observer | None = None,
        shared: Shared | None = None,
    ) -> RedactingProvisioner:
        """Return a new client, which the caller closes. Nothing is sent yet.

        Parameters
        ----------
        redact : takes the secrets of the design in question out of all that the provisioner says.
        context_marker : appears with every request in the provisioner's log (any text).
        observer : is told of each call (`site_engine.monitoring.owners.ProvisionerObserver`).
        shared : what it shares with clients of other processes (`site_engine.shared_lists.shared_by`); None: nothing.

        Raises
        ------
        SettingsError : the connection's fields cannot be used.
        """
        # Not above: an HTTP library that only few of the processes need which read the DAGs.
        from provisioner_client.factory import FACTORY

        with _as_settings_error(self.id):
            values = self.values if shared is None else replace(self.values, shared=shared)
            return FACTORY.connect(values, redact, context_marker, observer)

    def design_address(self, token: str, fetch: int = 0) -> str:
        """Return the address of a design; with a token, a secret: it opens the design.

        Parameters
        ----------
        token : what opens it; or its handle, for what is stored (`opening_address`).
        fetch : another address for each number: the provisioner never asks again at an address at which it got nothing.

        Raises
        ------
        SettingsError : the connection's fields cannot be used.
        """
        base = (self.settings.design_base_url or self.slipway_url).rstrip("/")
        return f"{base}{_DESIGNS}{token}" + (f"?n={fetch}" if fetch else "")


def handle_in(address: str) -> str:
    """Return the handle in the address of a design; the address itself where it has none."""
    return address.rpartition(_DESIGNS)[2].partition("?")[0]


def opening_address(address: str, token_of: Callable[[str], str]) -> str:
    """Return the address of a design with the token in place of the handle: nothing else opens it, or stores it.

    Parameters
    ----------
    address : any that does not lead to Slipway stays as it is.
    token_of : makes a token of a handle (`SecretTexts.token_of`).
    """
    base, ours, _ = address.rpartition(_DESIGNS)
    if not ours:
        return address
    handle = handle_in(address)
    return base + ours + token_of(handle) + address[len(base + ours + handle) :]


class Provisioners(Protocol):
    """Looks up which connection leads to a provisioner. Who starts the engine gives it; a module may be one.

    All raise ``ConnectionLookupFailed`` when it is not known which connection it is.
    """

    def find(self, conn_id: str) -> ConnectionValues | None:
        """Return a connection of any type by its name, None when there certainly is none."""
        ...

    def find_for_site(self, site: str) -> ProvisionerConnection | None:
        """Return the connection of a site: its own, else the one for all sites, None when there is neither."""
        ...

    def for_site(self, site: str) -> ProvisionerConnection:
        """Return the connection of a site.

        Raises `SettingsError`: there is neither one of its own nor one for all sites.
        """
        ...

    def for_action(self, store: SiteStore, action: ActionRecord) -> ProvisionerConnection:
        """Return the connection that an action uses, decided now unless it was; another is never used for it.

        Raises `SettingsError`: there is no connection for the action's site; `ConnectionMissing`: the one that was
        decided on is not there any more.
        """
        ...


@contextmanager
def _as_settings_error(conn_id: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise SettingsError(f"connection {conn_id!r}: {error}") from error
