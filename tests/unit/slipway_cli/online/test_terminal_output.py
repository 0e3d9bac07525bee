"""What commands print into a real terminal of 80, 120 and 200 columns: nothing is cut, nothing breaks a table."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pyte
import pytest

from slipway_cli.main import main
from tests.support.terminal_screens import WIDTHS, TerminalText, cut_words
from tests.unit.slipway_cli.conftest import EXAMPLE, Slipway
from tests.unit.slipway_cli.online.conftest import AT, ID, Server, action
from tests.unit.slipway_cli.online.test_lists import history, listed_site, node, page
from tests.unit.slipway_cli.online.test_plan import planned
from tests.unit.slipway_cli.online.test_trees import site, tree
from tests.unit.slipway_cli.test_tree_text import node as leaf
from tests.unit.slipway_cli.test_tree_text import parent

REF = f"action/{ID}"
NODE = "rack-07-storage-and-compute-31"
GROUPS = ["storage-nodes-of-the-second-room", "compute-nodes-of-the-second-room"]
SAID = f"no answer to PXE: the boot order of {NODE}.example.net does not begin with the network card enp216s0f0np0"
VERDICT = f"critical group {GROUPS[0]} failed; {GROUPS[1]} was blocked by it: it needed 12 and has 11 successful nodes"
ASKS = f"waits for approval: slipway approve {REF} --group {GROUPS[0]}: Is the second rack cabled?"
NODES = [f"rack-07-storage-and-compute-{number}" for number in range(10, 40)]


def _sites(server: Server) -> None:
    last = {"id": ID, "kind": "update_site", "state": "failed", "verdict": VERDICT}
    sites = [listed_site("north-of-the-river", last=last, repair_stopped=None), listed_site("lab-7")]
    stop = {"at": AT, "by": "ann", "reason": SAID, "all_sites": False}
    server.on("GET", "/sites", [*sites, listed_site("south", repair_stopped=stop)])


def _nodes(server: Server) -> None:
    server.on(
        "GET", "/sites/default/nodes", page(node(NODE, groups=GROUPS, message=SAID), node("n1"), total=9, after="x")
    )


def _actions(server: Server) -> None:
    done = action(action_lifecycle="Complete", state="success", verdict=VERDICT, status="success", left_alone=3)
    server.on("GET", "/actions", [done, action(waits=f"group {GROUPS[0]} {ASKS}", status="processing")])


def _owners(server: Server) -> None:
    owner = {
        "name": "reporter:monitoring-of-the-second-room", "alive": False, "status": "unresponsive", "last_seen": AT,
        "interval": 60.0, "detail": SAID, "unresponsive_since": None, "sites": ["north-of-the-river"] * 3,
        "actions": [ID, ID],
    }  # fmt: skip
    server.on("GET", "/owners", {"read_at": AT, "after": None, "owners": [owner]})


def _site(server: Server) -> None:
    root = parent("site", "lab-7", parent("group", GROUPS[0], leaf("n1"), leaf(NODE, "error", SAID)))
    running = {"id": ID, "kind": "update_site", "state": "running", "verdict": None}
    header = site(running=running, last=running | {"state": "failed", "verdict": VERDICT})
    server.on("GET", "/sites/lab-7/tree", {"token": "1", "header": header, "root": root})


def _node(server: Server) -> None:
    server.on("GET", f"/sites/default/nodes/{NODE}", history(name=NODE, node=node(NODE, groups=GROUPS, message=SAID)))


def _action(server: Server) -> None:
    group = {
        "name": GROUPS[0], "critical": True, "state": "running", "reason": None, "waits": ASKS,
        "counts": {"total": 12, "success": 11, "failure": 1, "unknown": 0}, "criteria": [],
    }  # fmt: skip
    nodes = [{"name": NODE, "state": "failure", "groups": GROUPS, "message": SAID}]
    steps = [{"id": f"deploy_group.{GROUPS[0]}", "index": 7, "state": "failed", "notes": []}]
    server.on("GET", f"/actions/{ID}", action(groups=[group], nodes=nodes, steps=steps, verdict=VERDICT))


def _tree(server: Server) -> None:
    gate = {"text": "Is the second rack cabled?", "approvers": ["ann"], "answered": None, "answer": None}
    one = parent("group", GROUPS[0], leaf(NODE, "pending", ASKS), group={"state": "pending", "approval": gate})
    two = parent("group", GROUPS[1], leaf("n1", "error", SAID))
    root = parent("action", "deploy_site", parent("stage", "deploy_group", one, two))
    server.on("GET", f"/actions/{ID}/tree", tree(verdict=VERDICT) | {"root": root})


def _plan(server: Server) -> None:
    groups = [
        {"name": GROUPS[0], "critical": True, "depends_on": [], "nodes": 12, "phases": {}, "failing": None},
        {"name": GROUPS[1], "critical": False, "depends_on": GROUPS[:1], "nodes": 1, "phases": {}, "failing": None},
    ]
    change = {
        "change": "change", "deed": "redeploy", "groups": GROUPS, "reason": SAID, "withheld": None, "allowed_by": None,
        "documents": [
            {
                "schema": "drydock/HostProfile/v1", "name": "compute-of-the-second-room", "change": "modified",
                "fields": [{"path": "$.platform.kernel", "change": "modified", "from": "ga-22.04", "to": "ga-24.04"}],
            }
        ],
    }  # fmt: skip
    nodes = [{**change, "name": name} for name in NODES]
    notes = [{"message": f"released first: {', '.join(NODES)}", "error": False, "level": "Warning"}]
    server.on("POST", "/actions/plan", planned(groups=groups, submissions=[], nodes=nodes, erased=NODES, notes=notes))


def _refused(server: Server) -> None:
    listed = {"message": f"site:12: $.data.host_profile: {SAID}", "error": True, "level": "Error"}
    server.refuse("GET", "/actions", 409, f"site default is busy: {REF} (update_site by ann): {SAID}", listed)


def _report(server: Server) -> None:
    server.on("GET", f"/actions/{ID}/report", f"deploy_site of site default: FAILURE: {VERDICT}\n\n{NODE}: {SAID}\n")


#: What answers, what is typed, and what has to be seen in one piece.
COMMANDS: dict[str, tuple[Callable[[Server], None], tuple[str, ...], tuple[str, ...]]] = {
    "get sites": (_sites, ("get", "sites"), ("north-of-the-river", REF)),
    "get nodes": (_nodes, ("get", "nodes", "--limit", "2"), (NODE, *GROUPS, "enp216s0f0np0")),
    "get actions": (_actions, ("get", "actions"), (ID, GROUPS[0], REF)),
    "get owners": (_owners, ("get", "owners"), ("reporter:monitoring-of-the-second-room", REF)),
    "describe site": (_site, ("describe", "site/lab-7"), (GROUPS[0], NODE, REF, "enp216s0f0np0")),
    "describe node": (_node, ("describe", f"node/{NODE}"), (NODE, *GROUPS, REF)),
    "describe action": (_action, ("describe", REF), (NODE, *GROUPS, f"deploy_group.{GROUPS[0]}")),
    "describe --tree": (_tree, ("describe", REF, "--tree"), (NODE, *GROUPS, f"slipway approve {REF}")),
    "plan": (_plan, ("plan", "update_site", "--explain"), (*NODES[:12], *GROUPS, "compute-of-the-second-room")),
    "errors": (_refused, ("get", "actions"), (REF, f"{NODE}.example.net")),
    "report": (_report, ("report", REF), (NODE, *GROUPS)),
    "a plan of files": (lambda _: None, ("plan", str(EXAMPLE)), ("compute-nodes-1", "monitoring-nodes")),
    "validate": (lambda _: None, ("validate", str(EXAMPLE)), ()),
}


def typed(arguments: tuple[str, ...], width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a command on a terminal of so many columns, and return what it has printed there."""
    text = TerminalText()
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, text)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.delenv("NO_COLOR", raising=False)
    with pytest.raises(SystemExit):
        main(list(arguments), prog_name="slipway")
    monkeypatch.undo()
    return text.getvalue()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_cut_on_a_terminal(
    name: str, width: int, slipway: Slipway, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, arguments, whole = COMMANDS[name]
    answer(server)
    text = typed(arguments, width, monkeypatch)
    screen = pyte.Screen(width, 400)
    pyte.Stream(screen).feed(text.replace("\n", "\r\n"))
    shown = [line.rstrip() for line in screen.display]
    assert cut_words(text, width) == []
    assert [words for words in whole if not any(words in line for line in shown)] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_colours_are_for_terminals_alone(name: str, slipway: Slipway, server: Server) -> None:
    answer, arguments, _ = COMMANDS[name]
    answer(server)
    assert "\x1b" not in slipway(*arguments).output
