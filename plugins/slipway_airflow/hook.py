"""Airflow's hooks for connections to provisioners: the form's "Test", and a client for a DAG of one's own."""

from __future__ import annotations

from functools import cached_property

from airflow.sdk import BaseHook, Connection

from provisioner_client.errors import ProvisionerError
from provisioner_client.protocol import Provisioner
from provisioner_client.redacting import nothing_is_secret
from site_engine.errors import SettingsError
from site_engine.provisioners import DEFAULT_CONNECTION
from slipway_airflow.connections import provisioner_connection


class ProvisionerHook(BaseHook):
    """A provisioner reached through an Airflow connection of its type. Slipway's own tasks do not need it.

    Parameters
    ----------
    conn_id : Airflow connection id.
    """

    conn_name_attr = "conn_id"
    default_conn_name = DEFAULT_CONNECTION

    def __init__(self, conn_id: str = default_conn_name) -> None:
        super().__init__()
        self.conn_id = conn_id

    @cached_property
    def connection(self) -> Connection:
        """The Airflow connection, read once."""
        return self.get_connection(self.conn_id)

    def get_conn(self, context_marker: str | None = None) -> Provisioner:
        """Return a new client; the caller closes it. Nothing is sent yet.

        Parameters
        ----------
        context_marker : appears with every request in the provisioner's log, where it has such a thing (any text).

        Raises
        ------
        SettingsError : the connection's fields cannot be used.
        """
        # There is no design yet that the provisioner could quote.
        return provisioner_connection(self.connection).connect(nothing_is_secret, context_marker)

    def test_connection(self) -> tuple[bool, str]:
        """Try the connection for the form's "Test" button: reachable, and authorised to read. Leaves nothing behind."""
        try:
            # Fields that only Slipway's tasks read are checked here, too, and not first in the middle of an action.
            _ = provisioner_connection(self.connection).settings
            provisioner = self.get_conn()
        except SettingsError as error:
            return False, str(error)
        try:
            return True, provisioner.check()
        except ProvisionerError as error:
            return False, str(error)
        finally:
            provisioner.close()


class DrydockHook(ProvisionerHook):
    """A Drydock reached through an Airflow connection of type ``drydock``."""

    conn_type = "drydock"
    hook_name = "Drydock"


class MaasHook(ProvisionerHook):
    """A MAAS reached through an Airflow connection of type ``maas``."""

    conn_type = "maas"
    hook_name = "MAAS"


class IronicHook(ProvisionerHook):
    """An Ironic reached through an Airflow connection of type ``ironic``."""

    conn_type = "ironic"
    hook_name = "Ironic"
