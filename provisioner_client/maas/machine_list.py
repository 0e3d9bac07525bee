"""The list of all machines of a site, MAAS's dearest request: one process at a time asks for it."""

from __future__ import annotations

from provisioner_client.listed_nodes import nodes_from_text, nodes_to_text
from provisioner_client.maas.api import MaasApi
from provisioner_client.maas.changes import listed_nodes
from provisioner_client.protocol import ListedNode
from provisioner_client.redacting import Redact, redacted_nodes
from provisioner_client.shared_lists import SharedLists
from provisioner_client.urls import identity_of


class MachineList:
    """Reads the list.

    Parameters
    ----------
    api : of the site.
    lists : how the list is shared, by those who have the same account and the same part of MAAS.
    timeout : the seconds that each request of it is waited for at least.
    redact : takes the secrets of the design out of what is shared.
    """

    def __init__(self, api: MaasApi, lists: SharedLists, timeout: float, redact: Redact) -> None:
        self._api, self._timeout, self._redact = api, timeout, redact
        # Events are read before the list: it has to be newer than they are.
        self._lists = lists.from_now()

    def read(self) -> dict[str, ListedNode]:
        """Return the machines by name, as they are listed after this call."""
        place = f"MAAS at {identity_of(self._api.http.base_url)}"
        name = f"list of machines of {place}, {self._api.limits}, for {self._api.account}"
        return nodes_from_text(self._lists.read(name, self._ask, self._timeout))

    def _ask(self, timeout: float) -> str:
        with self._api.http.slow_answers(timeout):
            listed = listed_nodes(self._api, self._api.machines())
        return nodes_to_text(redacted_nodes(listed, self._redact))
