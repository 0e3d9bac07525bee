"""The views of one site and of its newest action: a row for each, and what reads it and returns what it says.

Of an action, a node's word is that of its last phase.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from click.testing import CliRunner

from slipway_cli.main import main
from tests.integration.api.shipyard.shipyard_client import detail_row
from tests.integration.api.views.scene import GROUPS, NODES, SITE, Scene

API = "/api/v1.0"


@dataclass
class Said:
    """What a view says. None: it says nothing of that.

    Attributes
    ----------
    nodes : the status word and the first message of each node; the message is None where the view shows none.
    counts, groups : how many nodes show which status, in the site and in each group.
    errors : the nodes that are in error.
    serves : what each node serves; of a page or list, "" where it shows nothing of that beside the status.
    serving : how many nodes serve what.
    first_line : in sync or behind, and healthy or not.
    text : all of it, as a reader sees it.
    """

    nodes: Mapping[str, tuple[str, str | None]] | None = None
    counts: Mapping[str, int] | None = None
    groups: Mapping[str, Mapping[str, int]] | None = None
    errors: frozenset[str] | None = None
    status: str | None = None
    done: Mapping[str, tuple[int | None, int | None]] | None = None
    serves: Mapping[str, str] | None = None
    serving: Mapping[str, int] | None = None
    first_line: str | None = None
    text: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


def get(scene: Scene, path: str) -> Any:
    """Return an answer of the API."""
    answer = scene.client.get(f"{API}{path}")
    assert answer.status_code == 200, (path, answer.text)
    return answer.json()


def page(scene: Scene, path: str) -> str:
    """Return a page's source."""
    answer = scene.client.get(f"/ui{path}")
    assert answer.status_code == 200, (path, answer.text)
    return answer.text


def words(source: str) -> str:
    """Return the words of a page as one line."""
    return re.sub(r"\s+", " ", re.sub(r"(?s)<(style|script)\b.*?</\1>|<[^>]*>", " ", source))


def tree(scene: Scene) -> Said:
    answer = get(scene, f"/sites/{SITE}/tree?depth=2")
    root = answer["root"]
    leaves = [leaf for group in root["children"] for leaf in group.get("children", ()) if group["name"] in GROUPS]
    nodes = {
        leaf["name"]: (leaf["status"], next(iter(leaf["messages"]), "")) for leaf in leaves if leaf["kind"] == "node"
    }
    groups = {one["name"]: one["counts"] for one in root["children"] if one["name"] in GROUPS}
    errors = frozenset(name for name, (status, _) in nodes.items() if status == "error")
    serves = {leaf["name"]: leaf["serves"] for leaf in leaves if leaf["kind"] == "node"}
    line = _line(answer["header"])
    return Said(
        nodes,
        root["counts"],
        groups,
        errors,
        root["status"],
        serves=serves,
        serving=root["serves_counts"],
        first_line=line,
        text=str(root),
    )


def _line(header: Mapping[str, Any]) -> str:
    return f"{header['sync']}; {header['health']}"


def site_list(scene: Scene) -> Said:
    (one,) = (each for each in get(scene, "/sites") if each["name"] == SITE)
    return Said(
        counts=one["counts"],
        status=one["status"],
        serving=one["serves_counts"],
        first_line=_line(one),
        text=str(one["messages"]),
    )


def table(scene: Scene) -> Said:
    rows = get(scene, f"/sites/{SITE}/nodes")["nodes"]
    return _of_rows(rows)


def _of_rows(rows: list[dict[str, Any]]) -> Said:
    groups = {name: Counter(one["status"] for one in rows if name in one["groups"]) for name in GROUPS}
    return Said(
        {one["node"]: (one["status"], one["message"]) for one in rows},
        Counter(one["status"] for one in rows),
        groups,
        frozenset(one["node"] for one in rows if one["status"] == "error"),
        done={one["node"]: (one["done_version"], one["done_revision"]) for one in rows},
        serves={one["node"]: one["serves"] for one in rows},
        text=str([one["message"] for one in rows]),
        facts={"rows": rows},
    )


def filtered(scene: Scene) -> Said:
    rows = get(scene, f"/sites/{SITE}/nodes?status=error")["nodes"]
    return Said(errors=frozenset(one["node"] for one in rows))


def node_route(scene: Scene) -> Said:
    return _of_rows([get(scene, f"/sites/{SITE}/nodes/{name}")["node"] for name in NODES])


def plan(scene: Scene) -> Said:
    rows = get(scene, f"/sites/{SITE}/plan?all=true")["nodes"]
    return Said(text=str(rows))


def metrics(scene: Scene) -> Said:
    scene.metrics_are_counted_anew()
    text = scene.client.get("/metrics").text
    found = re.findall(rf'(?m)^slipway_nodes{{site="{SITE}",status="(\w+)"}} (\d+)', text)
    served = re.findall(rf'(?m)^slipway_nodes_serving{{site="{SITE}",serves="(\w+)"}} (\d+)', text)
    return Said(
        counts={status: int(number) for status, number in found},
        serving={word: int(number) for word, number in served},
    )


def table_page(scene: Scene) -> Said:
    source = page(scene, f"/sites/{SITE}/nodes")
    rows = {name: re.search(rf'(?s)<tr id="node-{name}">(.*?)</tr>', source) for name in NODES}
    nodes = {name: (badge(row[1]), None) for name, row in rows.items() if row is not None}
    serves = {name: _serves(row[1]) for name, row in rows.items() if row is not None}
    return Said(nodes, Counter(status for status, _ in nodes.values()), serves=serves, text=words(source))


def _serves(source: str) -> str:
    """Return what the first badge says of what is served."""
    found = re.search(r'class="badge s-\w+"( data-serves="(\w+)")?', source)
    return (found[2] if found else "") or ""


def _first_line(source: str) -> str:
    found = re.search(r'(?s)class="first-line">(.*?)</(p|div)>', source)
    return words(found[1]).strip().replace(" ;", ";") if found else ""


def badge(source: str) -> str:
    """Return the first status word of a page."""
    found = re.search(r'class="badge s-(\w+)"', source)
    assert found is not None, source
    return found[1]


def site_page(scene: Scene) -> Said:
    source = page(scene, f"/sites/{SITE}")
    legend = re.search(r'(?s)<div class="wide-bar">.*?</ul>', source)
    counts: Counter[str] = Counter()
    for number, word in re.findall(r"<b>([\d,]+)</b> (\w+)", legend[0]) if legend else []:
        counts[word] += int(number)
    return Said(counts=counts, status=badge(source), first_line=_first_line(source), text=words(source))


def node_page(scene: Scene) -> Said:
    sources = {name: page(scene, f"/sites/{SITE}/nodes/{name}") for name in NODES}
    nodes = {name: (badge(source), None) for name, source in sources.items()}
    serves = {name: _serves(source) for name, source in sources.items()}
    return Said(nodes, serves=serves, text=" ".join(map(words, sources.values())))


def sites_page(scene: Scene) -> Said:
    source = page(scene, "/")
    (row,) = re.findall(rf'(?s)<tr[^>]*>(?:(?!</tr>).)*/sites/{SITE}"(?:(?!</tr>).)*</tr>', source)
    return Said(status=badge(row), first_line=_first_line(row), text=words(source))


def text_of(path: str) -> Callable[[Scene], Said]:
    """Return what reads a page of which only the words count."""
    return lambda scene: Said(text=words(page(scene, path)))


def command(*arguments: str) -> str:
    """Return what a command prints, without its notes."""
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return re.sub(r"(?m)^\d{4}-\d\d-\d\dT\S+ \[.*\n", "", result.stdout)


def command_nodes(scene: Scene) -> Said:
    rows = {line.split()[0]: line for line in command("get", "nodes", "--site", SITE).splitlines() if line[:1] == "n"}
    nodes = {name: (_word(rows[name]), None) for name in NODES}
    shown = {name: re.search(r"\bserves (\w+)", line) for name, line in rows.items()}
    serves = {name: shown[name][1] if shown[name] else "" for name in NODES}  # type: ignore[index]
    return Said(nodes, Counter(status for status, _ in nodes.values()), serves=serves, text="\n".join(rows.values()))


def _word(line: str) -> str:
    found = re.search(r"\b(success|deleted|pending|unresponsive|processing|error|undefined)\b", line)
    assert found is not None, line
    return found[1]


def command_sites(scene: Scene) -> Said:
    text = command("get", "sites")
    (line,) = (line for line in text.splitlines() if line.split()[:1] == [SITE])
    return Said(status=_word(line), text=text)


def command_errors(scene: Scene) -> Said:
    lines = command("get", "nodes", "--site", SITE, "--status", "error").splitlines()
    return Said(errors=frozenset(line.split()[0] for line in lines if line.split()[:1] and line.split()[0] in NODES))


def command_describe(scene: Scene) -> Said:
    texts = {name: command("describe", "node", name, "--site", SITE) for name in NODES}
    nodes = {name: (_word(text.splitlines()[0]), None) for name, text in texts.items()}
    return Said(nodes, text="\n".join(texts.values()))


def reports(scene: Scene) -> Said:
    """Each node that is in error by an operation is in the reports; a drift is none."""
    found = get(scene, f"/sites/{SITE}/reports")["reports"]
    return Said(text=str(found), facts={"reported": {one["node"] for one in found}})


def command_site(scene: Scene) -> Said:
    text = command("describe", f"site/{SITE}", "--depth", "2")
    return Said(first_line=text.splitlines()[0].removeprefix(f"site {SITE}: "), text=text)


def published(scene: Scene) -> Said:
    """Only what is on and deployed may be published as up."""
    answer = scene.client.get(f"{API}/sites/{SITE}/state")
    return Said(text=answer.text, facts={"published": answer.json().get("nodes", {})})


def text_of_command(*arguments: str) -> Callable[[Scene], Said]:
    """Return what reads a command of which only the words count; ACTION stands for the newest action."""
    return lambda scene: Said(text=command(*(scene.action if one == "ACTION" else one for one in arguments)))


VIEWS: Mapping[str, Callable[[Scene], Said]] = {
    "tree": tree,
    "list of sites": site_list,
    "table of nodes": table,
    "nodes in error": filtered,
    "node": node_route,
    "plan": plan,
    "metrics": metrics,
    "page of sites": sites_page,
    "page of the site": site_page,
    "page of nodes": table_page,
    "pages of each node": node_page,
    "published states": published,
    "reports": reports,
    "page of owners": text_of("/owners"),
    "page of states": text_of(f"/sites/{SITE}/states"),
    "slipway get nodes": command_nodes,
    "slipway get nodes --status error": command_errors,
    "slipway get sites": command_sites,
    "slipway describe node": command_describe,
    "slipway get site-state": text_of_command("get", "site-state", "--site", SITE),
    "slipway describe site": command_site,
    "slipway get owners": text_of_command("get", "owners"),
    "slipway get actions": text_of_command("get", "actions", "--site", SITE),
    "slipway get workflows": text_of_command("get", "workflows", "--site", SITE),
    "page of the plan": text_of(f"/sites/{SITE}/plan"),
}


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
