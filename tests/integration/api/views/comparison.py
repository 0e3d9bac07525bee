"""What must agree between views, and with the simulator's machines. Each finding is a sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.integration.api.views.scene import OTHER, OTHERS, Scene
from tests.integration.api.views.views import ACTION_VIEWS, VIEWS, Said, get

WAITING = frozenset(
    {
        "page of sites",
        "page of the site",
        "page of the action",
        "pages of the groups",
        "tree of the action",
        "action",
        "list of actions",
        "slipway get actions",
        "slipway describe site",
        "slipway describe action",
        "slipway describe action --tree",
    }
)
"""Where an operator looks first."""
FIXED = "had to be fixed: "


def contradictions(scene: Scene) -> list[str]:
    """Return what of all views contradicts another one, or the machines."""
    said = {name: view(scene) for name, view in VIEWS.items()}
    of_action = {name: view(scene) for name, view in ACTION_VIEWS.items()} if scene.action else {}
    found = [*_between(said, said["tree"]), *_of_machines(scene, said["tree"]), *_published(scene, said)]
    found += _of_words({**said, **of_action}, said["table of nodes"].facts["rows"])
    found += _reported(said)
    if of_action:
        found += [*_between(of_action, of_action["tree of the action"])]
        found += _of_action(scene, of_action["tree of the action"])
    found += _waits(scene, {**said, **of_action})
    return [*found, *_other(scene)] if scene.watched else [*found, *_nobody_looks(scene, said)]


def _between(said: Mapping[str, Said], first: Said) -> Iterator[str]:
    assert first.nodes is not None
    for name, other in said.items():
        for node, (status, message) in (other.nodes or {}).items():
            word, text = first.nodes.get(node, ("not there", ""))
            if status != word:
                yield f"{name}: {node} is {status}, in the tree {word}"
            # The table has in a field of its own what had to be fixed.
            if message is not None and message != text and not (text or "").startswith(FIXED):
                yield f"{name}: {node} says {message!r}, in the tree {text!r}"
        if None not in (other.counts, first.counts) and _some(other.counts) != _some(first.counts):
            yield f"{name}: {_some(other.counts)}, in the tree {_some(first.counts)}"
        for group, counts in (other.groups or {}).items():
            of_tree = (first.groups or {})[group]
            if _some(counts) != _some(of_tree):
                yield f"{name}: {group} has {_some(counts)}, in the tree {_some(of_tree)}"
        if other.errors is not None and other.errors != first.errors:
            yield f"{name}: in error are {sorted(other.errors)}, in the tree {sorted(first.errors or ())}"
        if other.status is not None and other.status != first.status:
            yield f"{name}: the site is {other.status}, in the tree {first.status}"
        yield from _serving(name, other, first)


def _serving(name: str, other: Said, first: Said) -> Iterator[str]:
    """What nodes serve, and the first line of a site, are the same in each view (rule 27)."""
    if first.nodes is None or first.serves is None:
        return
    for node, word in (other.serves or {}).items():
        known = first.serves[node]
        # A page or list says it of what is pending alone, and of nothing says nothing.
        told = known if first.nodes[node][0] == "pending" and known != "nothing" else ""
        if word not in (known, told):
            yield f"{name}: {node} serves {word!r}, in the tree {known!r}"
        if not word and told:
            yield f"{name}: {node} is pending, and it is not said that it serves {known}"
    if other.serving is not None and _some(other.serving) != Counter(first.serves.values()):
        yield f"{name}: {_some(other.serving)} serve, in the tree {Counter(first.serves.values())}"
    if other.first_line is not None and other.first_line != first.first_line:
        yield f"{name}: {other.first_line!r}, in the tree {first.first_line!r}"
    if other.first_line is not None and other.status is not None:
        is_well = other.status not in ("error", "undefined", "unresponsive")
        if is_well == ("not healthy" in other.first_line):
            yield f"{name}: the site is {other.status}, and {other.first_line!r}"


def _some(counts: Mapping[str, int] | None) -> dict[str, int]:
    return {status: number for status, number in (counts or {}).items() if number}


def _of_machines(scene: Scene, tree: Said) -> Iterator[str]:
    """A node that was done stands as success only if its machine is deployed and on; else it has drifted (rule 56)."""
    rows = {one["node"]: one for one in get(scene, "/sites/alpha/nodes")["nodes"]}
    machines = scene.machines()
    for node, (status, message) in (tree.nodes or {}).items():
        is_right = machines.get(node) == (True, True)
        is_done = rows[node]["done_version"] is not None
        if scene.watched and status == "success" and not is_right:
            yield f"tree: {node} is success, but the machine is not deployed and on: {machines.get(node)}"
        if scene.watched and is_done and not is_right and not (status == "error" and "drifted" in (message or "")):
            yield f"tree: {node} was done and is not as it was left, but is {status}: {message!r}"
        is_serving = rows[node]["serves"] != "nothing"
        if scene.watched and is_serving and not is_right:
            yield f"tree: {node} serves something, but the machine is not deployed and on: {machines.get(node)}"
        if is_done and is_right and not is_serving and rows[node]["doubt"] is None and scene.watched:
            yield f"tree: {node} serves nothing, but it was done, and the machine is deployed and on"
        if scene.watched and is_right and (message or "").startswith("drifted"):
            yield f"tree: {node} has drifted, but the machine is deployed and on"


def _of_action(scene: Scene, tree: Said) -> Iterator[str]:
    """Right after an action's end, a node that it calls success is deployed and on."""
    machines = scene.machines()
    for node, (status, _) in (tree.nodes or {}).items():
        if scene.ended and status == "success" and machines.get(node) != (True, True):
            yield f"tree of the action: {node} is success, but the machine is not deployed and on"


def _reported(said: Mapping[str, Said]) -> Iterator[str]:
    """A node in error by an operation is in the reports (rule 48); a drift is told by the machine."""
    for node, (status, message) in (said["tree"].nodes or {}).items():
        told = node in said["reports"].facts["reported"]
        if status == "error" and not told and not (message or "").startswith("drifted"):
            yield f"reports: {node} is in error and not there: {message!r}"


def _waits(scene: Scene, said: Mapping[str, Said]) -> Iterator[str]:
    """A group that waits for a person is told as that, in each view of actions and sites."""
    for name, other in said.items():
        tells = "waits for approval" in other.text
        if scene.waits and name in WAITING and not tells:
            yield f"{name}: does not say that {scene.waits} waits for approval"
        if not scene.waits and tells:
            yield f"{name}: says that a group waits for approval, and none does"


def _other(scene: Scene) -> Iterator[str]:
    """What happens to one site is not told of another one."""
    root = get(scene, f"/sites/{OTHER}/tree?depth=2")["root"]
    listed = {one["name"]: one["status"] for one in get(scene, "/sites")}[OTHER]
    if scene.is_restored:
        return
    if (root["status"], listed) != ("success", "success") or _some(root["counts"]) != {"success": len(OTHERS)}:
        yield f"{OTHER}: is {root['status']}, {listed}, {root['counts']}, {root['messages']}"


def _published(scene: Scene, said: Mapping[str, Said]) -> Iterator[str]:
    """What is published as up is deployed and on."""
    machines = scene.machines()
    for node, state in said["published states"].facts["published"].items():
        word = (state or {}).get("state")
        if scene.watched and word == "up" and machines.get(node) != (True, True):
            yield f"published states: {node} is up, but the machine is not deployed and on"


def _of_words(said: Mapping[str, Said], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """No version is a revision; no blocked group is called failed."""
    versions = {one[key] for one in rows for key in ("wanted_version", "done_version", "error_version", "touched")}
    for name, other in said.items():
        for number in re.findall(r"\bversion (\d+)\b(?!\.\d)", other.text):
            if int(number) not in versions:
                yield f"{name}: there is no version {number} of a node"
        if re.search(r"groups? control, (compute|storage)[\w, ]* failed|group (compute|storage) failed", other.text):
            yield f"{name}: calls a blocked group failed"


def _nobody_looks(scene: Scene, said: Mapping[str, Said]) -> Iterator[str]:
    """While nobody looks, no view is all green (rule 30), and the list of owners says who is gone."""
    for name, other in said.items():
        if other.status == "success":
            yield f"{name}: the site is success, and nobody looks"
    gone = [one["name"] for one in get(scene, "/owners")["owners"] if not one["alive"]]
    if not any(name.startswith(("provisioner:", "controller")) for name in gone):
        yield f"owners: nobody who looks is gone: {gone}"
