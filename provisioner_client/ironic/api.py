"""Ironic's API as this backend uses it: what is asked, and never more than the site's part of it.

What limits the site stands in every list that is asked for, and is looked at again in each answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import quote

from keystoneauth1 import discover

from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerError,
    ProvisionerProtocolError,
    ProvisionerRefused,
    ProvisionerUnavailable,
)
from provisioner_client.http_errors import ErrorShape, ErrorText, one_line
from provisioner_client.http_session import Answer, HttpSession
from provisioner_client.ironic.limits import Limits
from provisioner_client.ironic.node import FIELDS, Node, read_node, read_time

HISTORY: Final = (1, 78)
"""The oldest API that has what is needed: the history of a node. Xena, of 2021."""
SHARDS: Final = (1, 82)
"""The oldest that has shards, of 2023."""
VERSION_HEADER: Final = "X-OpenStack-Ironic-API-Version"
PAGE: Final = 1000
"""Nodes in one answer at most: Ironic gives no more."""
FEW: Final = 8
"""So many nodes are asked for one by one, at 15 ms each; more of them with the list, at 1 ms each."""
_RANGE: Final = re.compile(r"\[(\d+\.\d+), (\d+\.\d+)\]")
_LOCKED: Final = re.compile(r"is locked by host|while a state transition is in progress")
_PROTECTED: Final = re.compile(r"is protected")
_GONE: Final = "could not be found"


def is_ironic(error: ErrorText) -> bool:
    """Whether Ironic itself has written an error, and nothing on the way."""
    return error.shape is ErrorShape.IRONIC


def version_needed(limits: Limits) -> tuple[int, int]:
    """Return the version of the API that is asked for: the oldest that has what is needed."""
    return SHARDS if limits.shard else HISTORY


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """One event of a node's history: `kind` such as ``deployment_end``, whether it says an error, and its words."""

    kind: str
    at: datetime | None
    is_error: bool
    text: str


class IronicApi:
    """Requests about one site, from one thread.

    A node that a conductor has locked (409), and a conductor without a free worker (503), are `ProvisionerUnavailable`
    with `answered`: nothing was done, and it may be asked for again. A connection that was reset is one, too, without:
    what was asked for may have been done.

    Parameters
    ----------
    http : the server; its errors are told apart by `is_ironic`, and its header asks for `version_needed`.
    limits : what the site's nodes are.
    """

    def __init__(self, http: HttpSession, limits: Limits) -> None:
        self.http, self.limits = http, limits
        self._fields = ",".join([*FIELDS, *(["shard"] if limits.shard else [])])
        self.now: datetime | None = None
        """Ironic's clock, as its last answer had it, in whole seconds."""

    def confirm_version(self) -> tuple[str, str]:
        """Return the version that is spoken, and the newest that Ironic has.

        Raises `ProvisionerRefused`: Ironic is too old; `ProvisionerProtocolError`: this is no Ironic.
        """
        hint = f"Ironic's API is not at {self.http.base_url}: its URL is like http://ironic:6385"
        try:
            data = self._get("/v1").data
        except (ProvisionerRefused, ProvisionerUnavailable) as refusal:
            if refusal.status != 404 and refusal.status not in range(300, 400):
                raise
            raise ProvisionerProtocolError(f"{refusal.detail}; {hint}", status=refusal.status) from None
        said = data.get("version") if isinstance(data, dict) else None
        try:
            oldest, newest = str(said["min_version"]), str(said["version"])  # type: ignore[index]  # else it is no Ironic
            self._require_version(oldest, newest)
        except (KeyError, TypeError, ValueError):
            raise ProvisionerProtocolError(f"GET /v1 names no version of Ironic; {hint}") from None
        return discover.version_to_string(version_needed(self.limits)), newest

    def nodes(self, fields: Iterable[str] = (), **filters: str) -> list[Node]:
        """Return all nodes of the site, with these fields besides. Of 404 it costs Ironic 0.4 s.

        Parameters
        ----------
        filters : parameters of Ironic's list besides those that limit the site, such as ``provision_state``.
        """
        params = {**filters, **self.limits.filters, "fields": ",".join([self._fields, *fields])}
        for _ in range(2):
            found = self._pages({**params, "limit": str(PAGE)})
            if found is not None:
                return found
        raise ProvisionerUnavailable("Ironic's list of nodes changes while it is read")

    def count(self) -> tuple[int, bool]:
        """Return how many nodes Ironic shows, of whatever site, and whether there are more than that."""
        data = self._get("/v1/nodes", {"fields": "uuid", "limit": str(PAGE)}).data
        listed = data.get("nodes") if isinstance(data, dict) else None
        if not isinstance(listed, list):
            raise ProvisionerProtocolError("Ironic's list of nodes is not a list")
        return len(listed), bool(data.get("next"))

    def nodes_of(self, names: Collection[str], fields: Iterable[str] = ()) -> list[Node]:
        """Return those nodes of the site that have these names."""
        wanted = frozenset(names)
        if len(wanted) > FEW:
            return [node for node in self.nodes(fields) if node.name in wanted]
        found = (self.node(name, fields) for name in sorted(wanted))
        return [node for node in found if node is not None and node.name in wanted]

    def node(self, key: str, fields: Iterable[str] = ()) -> Node | None:
        """Return the node of this name or UUID; None: Ironic itself says that it has none, or it is not the site's."""
        answer = self._get(_path(key), {"fields": ",".join([self._fields, *fields])}, accept=_is_gone)
        if answer.status == 404:
            return None
        if not isinstance(answer.data, dict):
            raise ProvisionerProtocolError("Ironic gives something that is no node")
        return read_node(answer.data) if self.limits.allow(answer.data) else None

    def is_known(self, key: str) -> bool:
        """Whether Ironic has a node of this name, of whatever site."""
        return self._get(_path(key), {"fields": "uuid"}, accept=_is_gone).status != 404

    def patch(self, uuid: str, operations: Sequence[Mapping[str, Any]]) -> Node:
        """Change fields of a node in one, as RFC 6902 has it, once; return the node."""
        return read_node(self._send("PATCH", _path(uuid), list(operations)).data)

    def provision(self, uuid: str, target: str, **more: object) -> None:
        """Ask for a change of state, once; what is given besides goes with it, such as ``configdrive``."""
        self._send("PUT", f"{_path(uuid)}/states/provision", {"target": target, **more})

    def power(self, uuid: str, target: str) -> None:
        """Ask for a change of power, such as ``power on``; repeated, it is the same."""
        self._send("PUT", f"{_path(uuid)}/states/power", {"target": target})

    def end_maintenance(self, uuid: str) -> None:
        """Take a node out of maintenance; repeated, it is the same."""
        self._send("DELETE", f"{_path(uuid)}/maintenance", None)

    def create(self, data: Mapping[str, Any]) -> Node:
        """Enrol a node, once. Raises `ProvisionerRefused`: also where there is one of this name (409)."""
        return read_node(self._send("POST", "/v1/nodes", data).data)

    def complete(self, uuid: str, mac_addresses: Collection[str], traits: Collection[str]) -> None:
        """Give a node these interfaces and these traits besides; repeated, it is the same.

        Raises `ProvisionerRefused`: also where another node has one of the addresses.
        """
        for address in mac_addresses:
            try:
                self._send("POST", "/v1/ports", {"node_uuid": uuid, "address": address})
            except ProvisionerRefused as refusal:
                data = self._get("/v1/ports", {"address": address, "fields": "node_uuid"}).data
                ports = data.get("ports") if refusal.status == 409 and isinstance(data, dict) else None
                if not ports or any(one.get("node_uuid") != uuid for one in ports):
                    raise
        for trait in sorted(traits):
            self._send("PUT", f"{_path(uuid)}/traits/{quote(trait, safe='')}", None)

    def validate(self, uuid: str) -> dict[str, str]:
        """Return what the interfaces of a node lack, by their names; the node's `instance_info` counts, too."""
        data = self._get(f"{_path(uuid)}/validate").data
        said = data if isinstance(data, dict) else {}
        # An interface that the node's driver has not says null.
        return {
            name: one_line(one.get("reason") or "it does not say why")
            for name, one in said.items()
            if isinstance(one, dict) and one.get("result") is False
        }

    def history(self, uuid: str) -> list[HistoryEvent]:
        """Return the events of a node that Ironic keeps, the oldest first."""
        data = self._get(f"{_path(uuid)}/history", {"detail": "true"}).data
        listed = data.get("history") if isinstance(data, dict) else None
        events = [
            HistoryEvent(
                str(one.get("event_type") or ""),
                read_time(one.get("created_at")),
                one.get("severity") == "ERROR",
                one_line(one.get("event") or ""),
            )
            for one in listed or ()
            if isinstance(one, dict)
        ]
        return sorted(events, key=lambda event: event.at or datetime.min.replace(tzinfo=UTC))

    def ports(self, nodes: Collection[str]) -> dict[str, list[str]]:
        """Return the MAC addresses of these nodes, by their UUIDs. The list of all of Ironic's ports is read for it."""
        found: dict[str, list[str]] = {}
        params = {"fields": "uuid,node_uuid,address", "limit": str(PAGE)}
        while True:
            data = self._get("/v1/ports", params).data
            listed = data.get("ports") if isinstance(data, dict) else None
            if not isinstance(listed, list):
                raise ProvisionerProtocolError("Ironic's list of ports is not a list")
            for one in listed:
                if one.get("node_uuid") in nodes:
                    found.setdefault(str(one["node_uuid"]), []).append(str(one.get("address")))
            if not listed or not data.get("next"):
                return found
            params["marker"] = str(listed[-1].get("uuid"))

    def drivers(self) -> list[str]:
        """Return the names of the hardware types that Ironic can use."""
        data = self._get("/v1/drivers").data
        listed = data.get("drivers") if isinstance(data, dict) else None
        return [str(one.get("name")) for one in listed or () if isinstance(one, dict)]

    def _pages(self, params: Mapping[str, str]) -> list[Node] | None:
        """Return the whole list; None: the node is gone after which its next page begins."""
        found: dict[str, Node] = {}
        marker = ""
        while True:
            more = {"marker": marker} if marker else {}
            answer = self._get("/v1/nodes", {**params, **more}, accept=_is_gone if marker else None)
            if answer.status == 404:
                return None
            page, marker = self._read_list(answer)
            # A node that changes may stand on two pages.
            found |= {node.uuid: node for node in page}
            if not marker:
                return list(found.values())

    def _read_list(self, answer: Answer) -> tuple[list[Node], str]:
        """Return the site's nodes of a page, and the UUID after which the next one begins; "": it is the last one."""
        listed = answer.data.get("nodes") if isinstance(answer.data, dict) else None
        if not isinstance(listed, list):
            raise ProvisionerProtocolError("Ironic's list of nodes is not a list")
        nodes = [read_node(one) for one in listed if isinstance(one, dict) and self.limits.allow(one)]
        # Where the next page begins is made here: its address may be one that only Ironic's own network knows.
        return nodes, str(listed[-1].get("uuid")) if listed and answer.data.get("next") else ""

    def _get(self, path: str, params: Mapping[str, str] | None = None, *, accept: Any = None) -> Answer:
        try:
            return self._noted(self.http.get(path, params, **({"accept": accept} if accept else {})))
        except ProvisionerError as trouble:
            raise self._told(trouble) from None

    def _send(self, method: str, path: str, body: object) -> Answer:
        try:
            return self._noted(self.http.post(path, body, method=method))
        except ProvisionerError as trouble:
            raise self._told(trouble) from None

    def _noted(self, answer: Answer) -> Answer:
        try:
            self.now = parsedate_to_datetime(answer.headers.get("date", ""))
        except ValueError:
            self.now = None
        return answer

    def _told(self, trouble: ProvisionerError) -> ProvisionerError:
        """Return what an error of Ironic's means to who asked."""
        if trouble.status == 409 and _LOCKED.search(trouble.said):
            told: ProvisionerError = ProvisionerUnavailable(trouble.detail, status=409, answered=True)
        elif trouble.status == 403 and _PROTECTED.search(trouble.said):
            told = ProvisionerRefused(trouble.detail, status=403, answered=True)
        elif isinstance(trouble, AuthenticationFailed):
            what = "user and password, or the token," if trouble.status == 401 else "the role of the user"
            told = AuthenticationFailed(f"{trouble.detail}; correct {what} of the connection", status=trouble.status)
        elif trouble.status == 406 and (found := _RANGE.search(trouble.said)):
            try:
                self._require_version(found[1], found[2])
            except ProvisionerRefused as refusal:
                return refusal
            return trouble
        else:
            return trouble
        told.said = trouble.said
        return told

    def _require_version(self, oldest: str, newest: str) -> None:
        needed = version_needed(self.limits)
        if discover.version_between(oldest, newest, needed):
            return
        why = "for shards" if needed == SHARDS else "for the history of nodes"
        raise ProvisionerRefused(
            f"Ironic at {self.http.base_url} speaks the versions {oldest} to {newest} of its API, and Slipway needs "
            f"{discover.version_to_string(needed)} {why}: update Ironic",
            status=406,
            answered=True,
        )


def _path(key: str) -> str:
    return f"/v1/nodes/{quote(key, safe='')}"


def _is_gone(status: int, error: ErrorText) -> bool:
    """Only Ironic itself can say that it has no such node; any other 404 is about the URL, or a proxy's."""
    return status == 404 and is_ironic(error) and _GONE in error.message
