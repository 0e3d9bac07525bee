"""The views of the newest action: a row for each. A node's word is that of its last phase."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.integration.api.shipyard.shipyard_client import detail_row
from tests.integration.api.views.scene import GROUPS, NODES, SITE, Scene
from tests.integration.api.views.views import Said, badge, get, page, text_of_command, words

_STATUS = {"success": "success", "failure": "error", "not_started": "error", "unknown": "undefined"}
"""What a report's states are in the tree (rule 27)."""


def action_tree(scene: Scene) -> Said:
    root = get(scene, f"/actions/{scene.action}/tree?depth=5")["root"]
    nodes = {
        leaf["name"]: (leaf["status"], next(iter(leaf["messages"]), ""))
        for phase in _entries(root, "phase")
        if phase["name"] in ("deploy", "relabel")
        for leaf in phase.get("children", ())
    }
    errors = frozenset(name for name, (status, _) in nodes.items() if status == "error")
    return Said(nodes, root.get("counts"), None, errors, root["status"], text=str(root))


def _entries(entry: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    if entry["kind"] == kind:
        yield entry
    for child in entry.get("children", ()):
        yield from _entries(child, kind)


def action_nodes(scene: Scene) -> Said:
    rows = get(scene, f"/actions/{scene.action}/nodes")["nodes"]
    return Said({one["name"]: (one["status"], next(iter(one["messages"]), "")) for one in _last(rows)}, text=str(rows))


def _last(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (one for one in rows if one["phase"] in ("deploy", "relabel"))


def report(scene: Scene) -> Said:
    answer = scene.client.get(f"/api/v1.0/actions/{scene.action}/report", params={"format": "json"})
    if answer.status_code == 404:
        return Said()
    found = answer.json()
    nodes = {one["name"]: (_STATUS[one["state"]], None) for one in found["nodes"]}
    return Said(nodes, status="success" if found["verdict"] == "success" else "error", text=answer.text)


def group_pages(scene: Scene) -> Said:
    listed = {one["group"] for one in get(scene, f"/actions/{scene.action}/nodes")["nodes"]}
    sources = [page(scene, f"/actions/{scene.action}/group?name={name}") for name in GROUPS if name in listed]
    nodes = {}
    for source in sources:
        for row in source.split("<tr>")[1:]:
            cells = words(row).split()
            if cells[0] in NODES and cells[1] in ("deploy", "relabel"):
                nodes[cells[0]] = (badge(row), None)
    return Said(nodes, text=" ".join(map(words, sources)))


def action_page(scene: Scene) -> Said:
    source = page(scene, f"/actions/{scene.action}")
    return Said(status=badge(source), text=words(source))


def listed_action(scene: Scene) -> Said:
    (one,) = (each for each in get(scene, f"/actions?site={SITE}&status=true") if each["id"] == scene.action)
    return Said(status=one["status"], text=str(one))


def described(scene: Scene) -> Said:
    """What Shipyard's client shows of it: a lifecycle in its own words."""
    found = get(scene, f"/actions/{scene.action}")
    facts, *_ = detail_row(found)
    said = {"Complete": "success", "Failed": "error"}.get(facts[2])
    return Said(status=said, text=str(detail_row(found)))


ACTION_VIEWS: Mapping[str, Callable[[Scene], Said]] = {
    "tree of the action": action_tree,
    "nodes of the action": action_nodes,
    "report": report,
    "pages of the groups": group_pages,
    "page of the action": action_page,
    "list of actions": listed_action,
    "action": described,
    "slipway describe action": text_of_command("describe", "action", "ACTION"),
    "slipway describe action --tree": text_of_command("describe", "action", "ACTION", "--tree"),
}
