"""To set the state of nodes, and to ask for a node again: what follows is said, and done when that is confirmed.

What is refused is said in words. By force it is done all the same, once the page has said what that overrides.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import Query, Request
from fastapi.responses import Response

from site_engine.errors import UnknownNodes
from site_engine.node_lists import last_conditions
from site_engine.plans.differences import node_difference
from site_engine.wishes import named_nodes, require_in_use, set_states, touch_nodes
from site_store import AskedState, SiteStore
from slipway_api.http import airflow_access as access
from slipway_api.http.api_errors import ApiError
from slipway_api.http.bodies import RawBody
from slipway_api.http.dependencies import Store, require_site
from slipway_api.pages.forms.doing import form_fields
from slipway_api.pages.rendering import page, page_router, to_page
from slipway_api.pages.wording import counted, minute
from slipway_api.sites.node_states import LONGEST_REASON
from slipway_api.sites.site_view import require_committed
from strategy_lib.goals.update import TO_DO, Change
from strategy_lib.node_condition import NodeCondition
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.status.node_row import NodeRow

router = page_router()

_A = NodeAvailability
STATES: Final = {
    _A.MAINTENANCE: "Somebody works on them. Actions leave them out, and stops of them are no crashes.",
    _A.RETIRED: "They are to be emptied. Actions leave them out, but destroy_nodes, which empties them.",
    _A.DOWN: "They are not to be used. Actions leave them out, but destroy_nodes. Before that they are retired.",
    _A.UP: "They may be used again, and their crashes are forgotten.",
}
"""What may be set, and what it means."""
_FIELDS: Final = ("nodes", "group", "rack", "state", "reason", "until", "force")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}
_LONGEST_DAYS: Final = 3650


class _NotSound(ValueError):
    """What was entered cannot be meant: the message says what to write."""


@router.get("/sites/{site}/states/set", dependencies=[access.may_control])
def ask(request: Request, site: str, store: Store) -> Response:
    """Ask which state is to be set for which nodes."""
    require_site(store, site)
    query = request.query_params
    given = {name: query.get(name, "") for name in _FIELDS} | {"nodes": "\n".join(query.getlist("node"))}
    return _form(request, site, given)


@router.post("/sites/{site}/states/set", dependencies=[access.may_control])
def do(request: Request, site: str, body: RawBody, store: Store, user: access.UserName) -> Response:
    """Say what will be done to which nodes; or, once that is confirmed, do it."""
    require_site(store, site)
    require_committed(store, site)
    fields = form_fields(body)
    given = {name: fields.get(name, [""])[0].strip() for name in _FIELDS}
    if "change" in fields:
        return _form(request, site, given)
    try:
        nodes, wanted = _read(store, site, given)
    except (_NotSound, UnknownNodes) as error:
        return _form(request, site, given, str(error))
    probe = replace(wanted, force=False, probe=True)
    objections = set_states(store, site, nodes, probe, user).change.objections
    # A group may have other nodes by the time of the confirmation, and other things may speak against it.
    digest = hashlib.sha256("\0".join((*nodes, "", *objections)).encode()).hexdigest()[:16]
    if fields.get("confirmed") == [digest] and set_states(store, site, nodes, wanted, user).change.modified:
        query = "" if wanted.state is _A.UP else f"?{urlencode({'user': str(wanted.state)})}"
        return to_page(request, "sites", site, "states", query=query)
    values = {
        "site": site,
        "hidden": [(name, given[name]) for name in _FIELDS if name != "force" and given[name]],
        "nodes": nodes,
        "wanted": wanted,
        "digest": digest,
        "heading": f"Set {counted(len(nodes), 'node')} to {wanted.state}",
        "effects": _effects(store, site, wanted),
        "objections": objections,
        "changed": "confirmed" in fields,
    }
    return page(request, "set_confirm.html", values)


def _form(request: Request, site: str, given: Mapping[str, str], problem: str = "") -> Response:
    values = {"site": site, "given": given, "states": STATES, "problem": problem}
    return page(request, "set_states.html", values)


def _read(store: SiteStore, site: str, given: Mapping[str, str]) -> tuple[tuple[str, ...], AskedState]:
    """Return the nodes that are meant, and what is to be set. Raises `_NotSound` and `UnknownNodes`."""
    names = [line.strip() for line in given["nodes"].splitlines() if line.strip()]
    if not (names or given["group"] or given["rack"]):
        raise _NotSound("name at least one node, a group or a rack")
    if given["state"] not in STATES:
        raise _NotSound("choose the state that is to be set")
    state = _A(given["state"])
    if state is not _A.UP and not given["reason"]:
        raise _NotSound(f"say why nodes are set to {state}")
    if len(given["reason"]) > LONGEST_REASON:
        raise _NotSound(f"the reason has more than {LONGEST_REASON} characters: shorten it")
    until = _moment(given["until"], store.now()) if given["until"] else None
    nodes = named_nodes(store, site, _parted(store, site, names), given["group"] or None, given["rack"] or None)
    if not nodes:
        raise _NotSound("these are no nodes: name at least one")
    return nodes, AskedState(state, given["reason"], until, force=given["force"] == "yes")


def _parted(store: SiteStore, site: str, lines: Sequence[str]) -> list[str]:
    """Return the names in lines: one each, or several with commas between them where a line is no name itself."""
    if not any("," in line for line in lines):
        return list(lines)
    known = store.site_views.nodes(site)
    found: list[str] = []
    for line in lines:
        found += [line] if line in known else [part.strip() for part in line.split(",") if part.strip()]
    return found


def _moment(text: str, now: datetime) -> datetime:
    """Return the time that is meant by `8h` or `2026-03-02 12:00`, which is UTC where it does not say otherwise."""
    example = "write 90m, 8h, 2d or 2026-03-02 12:00, which is UTC"
    span = re.fullmatch(r"([0-9]{1,5})\s*([mhd])", text)
    try:
        if span is not None:
            moment = now + timedelta(**{_UNITS[span[2]]: int(span[1])})
        else:
            found = datetime.fromisoformat(text)
            moment = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise _NotSound(f"until {text[:40]!r} is no time: {example}") from error
    if not now < moment < now + timedelta(days=_LONGEST_DAYS):
        raise _NotSound(f"until {minute(moment)} is over or ten years away: {example}")
    return moment


def _effects(store: SiteStore, site: str, wanted: AskedState) -> list[str]:
    """Return in sentences what follows."""
    said = {
        _A.UP: ["Actions may work on these nodes again, from now on.", "Their crashes are forgotten."],
        _A.MAINTENANCE: ["Every action leaves these nodes out from now on: they are not submitted."],
    }.get(wanted.state, ["Every action but destroy_nodes leaves these nodes out from now on: they are not submitted."])
    if wanted.state is not _A.UP:
        said.append("Each action's plan and report names them, with your reason. What is submitted already goes on.")
        ends = "until somebody sets them up" if wanted.until is None else f"until {minute(wanted.until)}"
        said.append(f"It stays so {ends}.")
    elif wanted.until is not None:
        said.append("A node that is up needs no end: what you gave as the end changes nothing.")
    if not store.user_states.is_led(site):
        said.append("No controller leads the site: it is published when one does.")
    said.append("Nothing is started by this. It is recorded with your name.")
    return said


NodeName = Annotated[str, Query(max_length=1000)]


@router.get("/sites/{site}/touch", dependencies=[access.may_commit])
def ask_again(request: Request, site: str, node: NodeName, store: Store) -> Response:
    """Say what follows when a node is asked for again, and ask."""
    require_site(store, site)
    record = next((one for one in store.nodes.of_site(site) if one.name == node), None)
    if record is None or record.wanted_digest is None:
        raise ApiError(404, f"the design of site {site} has no node {node[:64]!r}", "Node not found")
    require_in_use(store, site, [node])
    said = effects_of_touch(record, last_conditions(store, site)[0].get(node))
    values = {"site": site, "name": node, "effects": said, "running": store.locks.owner(site)}
    return page(request, "touch.html", values)


@router.post("/sites/{site}/touch", dependencies=[access.may_commit])
def touch(request: Request, site: str, node: NodeName, store: Store, user: access.UserName) -> Response:
    """Ask for a node again."""
    require_site(store, site)
    touch_nodes(store, site, [node], user)
    return to_page(request, "sites", site, "nodes", node)


def effects_of_touch(record: NodeRow, condition: NodeCondition | None) -> list[str]:
    """Return in sentences what follows when a node is asked for again.

    Parameters
    ----------
    record : of a node that is in the design.
    condition : what the provisioner said of it last; None: its list does not have it.
    """
    version = (record.wanted_version or 0) + 1
    touched = replace(record, wanted_version=version, touched=version)
    now = node_difference(record.name, record.wanted_digest, record, condition)
    then = node_difference(record.name, record.wanted_digest, touched, condition)
    said = [f"Its design stays the same, and is wanted as version {version} of the node."]
    if now.change is not Change.NONE:
        said.append(f"It is not as wanted now: {now.reason}.")
    if then.change not in TO_DO:
        said.append(f"The next update leaves it alone: {then.withheld or then.reason}.")
    elif then.withheld is None:
        said.append("The next update prepares and deploys it.")
    else:
        said.append("It is deployed. An update that may redeploy it (allow_redeploy) destroys it and deploys it anew.")
        said.append("Any other update names it, and leaves it alone.")
    if record.next_try is not None:
        said.append("Its failures are forgotten: repair, where it is on, waits no longer.")
    said.append("Nothing is started by this. It is recorded with your name.")
    return said
