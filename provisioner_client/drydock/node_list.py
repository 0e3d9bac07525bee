"""Drydock's list of nodes, which is MAAS's at the moment when it is asked for.

MAAS is asked for each machine several times. So one process at a time has it read, for all that need it by then.
"""

from __future__ import annotations

from provisioner_client.drydock.wire import nodes_from
from provisioner_client.http_session import HttpSession
from provisioner_client.listed_nodes import nodes_from_text, nodes_to_text
from provisioner_client.protocol import ListedNode
from provisioner_client.redacting import Redact, redacted_nodes
from provisioner_client.shared_lists import SharedLists


class NodeList:
    """Reads the list.

    Parameters
    ----------
    http, path : where it is.
    lists, name : how it is shared, and under which name.
    timeout : the seconds that it is waited for at least.
    redact : takes the secrets of the design out of what is shared.
    """

    def __init__(
        self, http: HttpSession, path: str, lists: SharedLists, name: str, timeout: float, redact: Redact
    ) -> None:
        self._http, self._path = http, path
        self._lists, self._name, self._timeout = lists, name, timeout
        self._redact = redact

    def read(self) -> dict[str, ListedNode]:
        """Return the nodes by name, as they are listed after this call."""
        return nodes_from_text(self._lists.read(self._name, self._ask, self._timeout))

    def _ask(self, timeout: float) -> str:
        with self._http.slow_answers(timeout):
            listed = nodes_from(self._http.get(self._path).data)
        return nodes_to_text(redacted_nodes(listed, self._redact))
