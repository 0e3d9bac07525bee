"""The Airflow side of the provisioner's connection: from a connection to a ``Provisioner``, and the form's "Test"."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from airflow.sdk import BaseHook

from site_engine.errors import ConnectionMissing, SettingsError
from slipway_airflow.connections import find_connection, site_connection
from slipway_airflow.settings import ConnectionSettings, connection_candidates

if TYPE_CHECKING:
    from airflow.sdk import Connection

    from provisioner_client.drydock.settings import DrydockSettings
    from provisioner_client.protocol import Provisioner
    from site_store import ActionRecord, SiteStore


class DrydockHook(BaseHook):
    """A Drydock reached through an Airflow connection of type ``drydock``.

    Parameters
    ----------
    conn_id : str
        Airflow connection id.
    """

    conn_name_attr = "conn_id"
    default_conn_name = "slipway_provisioner"
    conn_type = "drydock"
    hook_name = "Drydock"

    def __init__(self, conn_id: str = default_conn_name) -> None:
        super().__init__()
        self.conn_id = conn_id
        self._connection: Connection | None = None

    @classmethod
    def for_site(cls, site: str) -> DrydockHook:
        """Return the hook of the site's own connection, else of the one for all sites.

        Raises
        ------
        SettingsError
            Neither connection exists.
        ConnectionLookupFailed
            It is not known whether they exist.
        """
        found = site_connection(site)
        if found is None:
            own, shared = connection_candidates(site)
            raise SettingsError(
                f"no provisioner for site {site}: create an Airflow connection {own!r} or {shared!r} of type Drydock"
            )
        hook = cls(str(found.conn_id))
        hook.use_connection(found)
        return hook

    @classmethod
    def for_action(cls, store: SiteStore, action: ActionRecord) -> DrydockHook:
        """Return the hook of the connection that the action uses, decided now unless it was; another is never used.

        Raises
        ------
        SettingsError
            There is no connection for the action's site.
        ConnectionLookupFailed
            It is not known whether there is one.
        ConnectionMissing
            The one that was decided on is not there any more.
        """
        decided = action.connection or store.action(action.id).connection
        if decided is None:
            hook = cls.for_site(action.site)
            decided = store.decide_connection(action.id, hook.conn_id)
            if decided == hook.conn_id:
                return hook
        found = find_connection(decided)
        if found is None:
            raise ConnectionMissing(
                f"the Airflow connection {decided!r}, which action {action.id} uses, is not there any more: create it "
                "again, or stop the action; another connection is never used for it"
            )
        hook = cls(decided)
        hook.use_connection(found)
        return hook

    def use_connection(self, connection: Connection) -> None:
        """Use this connection instead of looking it up (the triggerer looks it up asynchronously)."""
        self._connection = connection

    @property
    def connection(self) -> Connection:
        """The Airflow connection, read once."""
        if self._connection is None:
            self._connection = self.get_connection(self.conn_id)
        return self._connection

    @property
    def settings(self) -> ConnectionSettings:
        """The connection's own fields (raises ``SettingsError`` for one that cannot be used)."""
        return ConnectionSettings.from_extra(self.connection.extra_dejson)

    def get_conn(self, context_marker: str | None = None) -> Provisioner:
        """Return a new client; the caller closes it. Nothing is sent yet.

        Parameters
        ----------
        context_marker
            Appears with every request in Drydock's log (any text).

        Raises
        ------
        SettingsError
            The connection's fields cannot be used.
        """
        from provisioner_client.drydock.settings import drydock_from_settings

        try:
            return drydock_from_settings(replace(self._drydock_settings(), context_marker=context_marker))
        except ValueError as error:
            raise SettingsError(f"connection {self.conn_id!r}: {error}") from error

    def _drydock_settings(self) -> DrydockSettings:
        from provisioner_client.drydock.settings import DrydockSettings
        from provisioner_client.drydock.tokens import KeystoneAccount

        connection, settings = self.connection, self.settings
        keystone = None
        if settings.auth_url:
            keystone = KeystoneAccount(
                settings.auth_url,
                connection.login or "",
                connection.password or "",
                settings.project_name or "service",
                settings.user_domain_name or "Default",
                settings.project_domain_name or "Default",
            )
        return DrydockSettings(
            self._url(),
            token=settings.auth_token,
            keystone=keystone,
            connect_timeout=settings.connect_timeout,
            read_timeout=settings.read_timeout,
            verify=(settings.ca_bundle or True) if settings.verify_tls else False,
            end_user=connection.login or None,
            named_by=f"Airflow connection {self.conn_id!r}",
        )

    def _url(self) -> str:
        host = (self.connection.host or "").strip()
        if not host:
            raise SettingsError(f"connection {self.conn_id!r} has no Drydock URL")
        url = host if "://" in host else f"{self.connection.schema or 'http'}://{host}"
        if self.connection.port:
            url = f"{url.rstrip('/')}:{self.connection.port}"
        return url

    def test_connection(self) -> tuple[bool, str]:
        """Try the connection for the form's "Test" button: reachable, and authorised to read. Leaves nothing behind."""
        from provisioner_client.errors import ProvisionerError

        try:
            provisioner = self.get_conn()
        except SettingsError as error:
            return False, str(error)
        try:
            return True, provisioner.check()
        except ProvisionerError as error:
            return False, str(error)
        finally:
            provisioner.close()
