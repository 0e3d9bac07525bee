"""Designs as the simulator reads and remembers them, as a real Drydock does; and node filters over them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.provisioner_client.simulator.conftest import StartSimulator
from tests.integration.provisioner_client.simulator.drydock_calls import Drydock, write_design
from tests.support.file_server import FileServer
from tests.support.simulators import Simulator
from tests.support.sites import boot_action, node, site

SITE = site([node("n1"), node("n2")], []).encode()
GREETING = boot_action(
    node_filter={"filter_set_type": "union", "filter_set": [{"filter_type": "union", "node_names": ["n1"]}]}
)


@pytest.fixture
def server() -> Iterator[FileServer]:
    """A server of designs, which can be told to refuse."""
    with FileServer() as server:
        yield server


@pytest.mark.parametrize("status", [503, 404])
def test_the_status_is_not_looked_at_the_body_of_a_refusal_is_a_design_without_nodes(
    drydock: Drydock, server: FileServer, status: int
) -> None:
    server.content = SITE
    server.refuse(status, b'{"detail": "later"}')
    reference = f"{server.url}/d/x"
    for _ in range(2):
        assert drydock.post("validatedesign", {"href": reference}).json()["status"] == "Success"
        assert drydock.post("nodefilter", {"design_ref": reference, "node_filter": None}).json() == []
    assert sorted(drydock.post("nodefilter", {"design_ref": f"{reference}?n=1"}).json()) == ["n1", "n2"]
    assert server.asked == ["/d/x", "/d/x?n=1"], "each address once"


def test_a_page_in_html_is_no_design(drydock: Drydock, server: FileServer) -> None:
    server.refuse(502, b"<html><title>Bad gateway</title>: [</html>")
    assert drydock.post("validatedesign", {"href": f"{server.url}/x"}).status_code == 500


def test_messages_accumulate_with_every_use_of_a_content(drydock: Drydock, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(site([node("n1"), node("n2")], [], boot_actions=[GREETING]))
    counts = []
    for name in ("one", "two"):
        answer = drydock.post("validatedesign", {"href": f"file://{tmp_path}/{name}.yaml"}).json()
        counts.append(len(answer["details"]["messageList"]))
    drydock.run("prepare_nodes", f"file://{tmp_path}/one.yaml", ["n1", "n2"])
    messages = drydock.post("validatedesign", {"href": f"file://{tmp_path}/one.yaml"}).json()["details"]["messageList"]
    once = counts[0]
    assert (counts[1], len(messages)) == (2 * once, 6 * once), "also at another address; a task uses it for each node"
    assert len({(message["name"], message["message"]) for message in messages}) == once
    warned = [message for message in messages if message["level"] == "Warning"]
    assert {document["name"] for message in warned for document in message["documents"]} == {"n2"}


def test_a_refusal_stays_with_the_content(drydock: Drydock, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_bytes(SITE.replace(b"host_profile: compute", b"host_profile: gone"))
    answers = [drydock.post("validatedesign", {"href": f"file://{tmp_path}/bad.yaml?n={n}"}) for n in range(2)]
    assert [answer.status_code for answer in answers] == [400, 400]
    first, second = (answer.json()["details"]["messageList"] for answer in answers)
    assert first == second, "it is not made again"


def test_the_default_ingester_of_a_real_drydock_finds_nothing(start_simulator: StartSimulator, tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_bytes(SITE)
    with (drydock := Drydock(start_simulator("--ingester", "yaml"))).session:
        reference = f"file://{tmp_path}/site.yaml"
        assert drydock.post("validatedesign", {"href": reference}).json()["status"] == "Success"
        assert drydock.post("nodefilter", {"design_ref": reference, "node_filter": None}).json() == []


@pytest.mark.parametrize(
    ("boot_actions", "result", "statuses"),
    [
        pytest.param([], ("success", set()), {"n1": "Allocated", "n2": "Allocated"}, id="a design without any crashes"),
        pytest.param([GREETING], ("success", {"n1", "n2"}), {"n1": "Deployed", "n2": "Deployed"}, id="one for another"),
    ],
)
def test_a_deploy_crashes_where_the_design_has_no_boot_action_at_all(
    drydock: Drydock,
    tmp_path: Path,
    boot_actions: list[dict[str, Any]],
    result: tuple[str, set[str]],
    statuses: dict[str, str],
) -> None:
    (tmp_path / "site.yaml").write_text(site([node("n1"), node("n2")], [], boot_actions=boot_actions))
    reference = f"file://{tmp_path}/site.yaml"
    drydock.run("prepare_nodes", reference, ["n1", "n2"])
    ended = drydock.run("deploy_nodes", reference, ["n1", "n2"])["result"]
    assert (ended["status"], set(ended["successes"]), ended["failures"]) == (*result, [])
    drydock.wait_for(drydock.statuses, lambda seen: seen == statuses)


def test_the_connection_is_closed_after_each_answer(drydock: Drydock) -> None:
    assert drydock.get("nodes").headers["Connection"] == "close"


ALL = ["n1", "n2", "n3"]
CRASH = None
HANG, NOTHING = "hang", "nothing"


def _filters(*filters: dict[str, Any], kind: str = "union") -> dict[str, Any]:
    return {"filter_set_type": kind, "filter_set": list(filters)}


def _union(**criteria: object) -> dict[str, Any]:
    return {"filter_type": "union", **criteria}


def _intersection(**criteria: object) -> dict[str, Any]:
    return {"filter_type": "intersection", **criteria}


# name: (filter, names selected or CRASH, what a task does: the names that it works on, NOTHING or HANG)
MATRIX: dict[str, tuple[object, list[str] | None, object]] = {
    "null-is-all": (None, ALL, ALL),
    "no-keys": ({}, CRASH, HANG),
    "a-reference-alone": ({"x_client_ref": "r"}, CRASH, HANG),
    "no-filters": (_filters(), CRASH, NOTHING),
    "intersection-without-criteria": (_filters(_intersection()), CRASH, HANG),
    "empty-lists-are-no-criteria": (_filters(_intersection(node_names=[], node_tags=[])), CRASH, HANG),
    "union-without-criteria": (_filters(_union()), [], NOTHING),
    "one-without-criteria-beside-a-good-one": (_filters(_union(), _union(node_names=["n1"])), CRASH, HANG),
    "names": (_filters(_union(node_names=["n1", "n3"])), ["n1", "n3"], ["n1", "n3"]),
    "two-tags-are-or": (_filters(_intersection(node_tags=["odd", "even"])), ALL, ALL),
    "two-labels-are-or": (_filters(_intersection(node_labels={"role": "compute", "x": "y"})), ALL, ALL),
    "criteria-are-and": (_filters(_intersection(node_tags=["odd"], node_names=["n2", "n3"])), ["n3"], ["n3"]),
    "criteria-of-a-union-are-or": (_filters(_union(node_tags=["odd"], node_names=["n2"])), ALL, ALL),
    "filters-are-or": (_filters(_union(node_names=["n1"]), _union(rack_names=["r2"])), ["n1", "n2"], ["n1", "n2"]),
    "filters-are-and": (
        _filters(_union(node_names=["n1", "n2"]), _union(rack_names=["r2"]), kind="intersection"),
        ["n2"],
        ["n2"],
    ),
    "unknown-names": (_filters(_union(node_names=["zz"])), [], NOTHING),
    "unknown-tag": (_filters(_intersection(node_tags=["zz"])), [], NOTHING),
    "labels-as-a-list": (_filters(_intersection(node_labels=[{"role": "compute"}])), CRASH, HANG),
    "rack-labels-alone": (_filters(_intersection(rack_labels={"a": "b"})), CRASH, HANG),
}


@pytest.mark.parametrize("case", MATRIX)
def test_nodefilter(drydock: Drydock, design_ref: str, case: str) -> None:
    node_filter, names, _ = MATRIX[case]
    answer = drydock.post("nodefilter", {"design_ref": design_ref, "node_filter": node_filter})
    if names is CRASH:
        assert (answer.status_code, answer.json()) == (500, {"title": "500 Internal Server Error"})
    else:
        assert (answer.status_code, sorted(answer.json())) == (200, names)


@pytest.mark.parametrize("case", MATRIX)
def test_the_same_filter_in_a_task(drydock: Drydock, simulator: Simulator, design_ref: str, case: str) -> None:
    node_filter, _, effect = MATRIX[case]
    task_id = drydock.submit("prepare_nodes", design_ref, node_filter)
    if effect == HANG:
        drydock.wait_for(lambda: simulator.get("state"), lambda state: state["running"] == task_id)
        assert drydock.submit("verify_site", design_ref) in simulator.get("state")["queue"]
        assert drydock.task(task_id)["result"]["status"] == "incomplete"
        return
    result = drydock.finish(task_id)["result"]
    assert sorted(result["successes"]) == ([] if effect == NOTHING else effect)
    texts = [message["message"] for message in result["details"]["messageList"]]
    assert any("No nodes in scope" in text for text in texts) == (effect == NOTHING)


def test_an_unresolvable_design_selects_nobody_without_an_error(drydock: Drydock, simulator: Simulator) -> None:
    answer = drydock.post("nodefilter", {"design_ref": "file:///no/such/design.yaml", "node_filter": None})
    assert (answer.status_code, answer.json()) == (200, [])
    assert "no design" in simulator.get("journal")[-1]["effect"]


def test_a_task_for_an_unresolvable_design_is_accepted_and_runs_for_ever(
    drydock: Drydock, simulator: Simulator
) -> None:
    task_id = drydock.submit("prepare_nodes", "file:///no/such/design.yaml")
    drydock.wait_for(lambda: simulator.get("state"), lambda state: state["running"] == task_id)
    assert drydock.task(task_id)["status"] == "running"


def test_a_design_is_kept_for_ever(drydock: Drydock, tmp_path: Path) -> None:
    reference = write_design(tmp_path, ["a"])
    assert drydock.post("nodefilter", {"design_ref": reference}).json() == ["a"]
    write_design(tmp_path, ["a", "b"])
    assert drydock.post("nodefilter", {"design_ref": reference}).json() == ["a"]


def test_nodes_of_two_sites_do_not_mix(drydock: Drydock, simulator: Simulator, tmp_path: Path) -> None:
    for region in ("alpha", "beta"):
        drydock.post("validatedesign", {"href": write_design(tmp_path, ["same"], region)})
    drydock.run("prepare_nodes", write_design(tmp_path, ["same"], "beta"), ["same"])
    found = [(node["site"], node["name"], node["status"]) for node in simulator.get("nodes")]
    assert found == [("alpha", "same", "New"), ("beta", "same", "Ready")]
