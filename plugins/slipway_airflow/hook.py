"""The Airflow side of the provisioner's connection: from a connection to a ``Provisioner``, and the form's "Test"."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from airflow.sdk import BaseHook

from slipway_airflow.errors import SettingsError
from slipway_airflow.settings import ConnectionSettings, connection_candidates

if TYPE_CHECKING:
    from airflow.sdk import Connection

    from provisioner_client.protocol import Provisioner
    from provisioner_client.settings import DrydockSettings


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
        """
        own, shared = connection_candidates(site)
        for conn_id in (own, shared):
            hook = cls(conn_id)
            if hook._exists():
                return hook
        raise SettingsError(
            f"no provisioner for site {site}: create an Airflow connection {own!r} or {shared!r} of type Drydock"
        )

    def _exists(self) -> bool:
        from airflow.sdk.exceptions import AirflowNotFoundException

        try:
            self._connection = self.get_connection(self.conn_id)
        except AirflowNotFoundException:
            return False
        return True

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
        from provisioner_client.settings import drydock_from_settings

        try:
            return drydock_from_settings(replace(self._drydock_settings(), context_marker=context_marker))
        except ValueError as error:
            raise SettingsError(f"connection {self.conn_id!r}: {error}") from error

    def _drydock_settings(self) -> DrydockSettings:
        from provisioner_client.settings import DrydockSettings
        from provisioner_client.tokens import KeystoneAccount

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
