"""What the simulator remembers of designs, as a real Drydock does: failed fetches, messages, refusals, boot actions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioner_client.simulator.design_cache import PAUSES, DesignCache
from provisioner_client.simulator.errors import DesignUnresolvable
from tests.support.file_server import FileServer
from tests.support.simulators import Simulator
from tests.support.sites import boot_action, node, site
from tests.unit.simulator.conftest import StartSimulator
from tests.unit.simulator.drydock_calls import Drydock

SITE = site([node("n1"), node("n2")], []).encode()
GREETING = boot_action(
    node_filter={"filter_set_type": "union", "filter_set": [{"filter_type": "union", "node_names": ["n1"]}]}
)


@pytest.fixture
def server() -> Iterator[FileServer]:
    """A server of designs, which can be told to refuse."""
    with FileServer() as server:
        yield server


def test_a_fetch_that_fails_is_tried_three_times_and_then_remembered_for_ever(tmp_path: Path) -> None:
    waits: list[float] = []
    file = tmp_path / "site.yaml"
    cache = DesignCache(sleep=waits.append)
    for _ in range(2):
        with pytest.raises(DesignUnresolvable):
            cache.resolve(f"file://{file}")
        file.write_bytes(SITE)
    assert waits == [*PAUSES]
    assert [one.name for one in cache.resolve(f"file://{file}?n=1").nodes] == ["n1", "n2"], "another address"


def test_an_outage_shorter_than_the_three_tries_is_survived(tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    cache = DesignCache(sleep=lambda _: [file.write_bytes(SITE)].clear())
    assert len(cache.resolve(f"file://{file}").nodes) == 2


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


def test_a_deploy_without_a_boot_action_for_the_node_crashes(
    drydock: Drydock, simulator: Simulator, tmp_path: Path
) -> None:
    (tmp_path / "site.yaml").write_text(site([node("n1"), node("n2")], [], boot_actions=[GREETING]))
    reference = f"file://{tmp_path}/site.yaml"
    drydock.run("prepare_nodes", reference, ["n1", "n2"])
    result = drydock.run("deploy_nodes", reference, ["n1", "n2"])["result"]
    assert (result["status"], result["successes"], result["failures"]) == ("success", ["n1"], [])
    drydock.wait_for(drydock.statuses, lambda seen: seen == {"n1": "Deployed", "n2": "Allocated"})


def test_the_connection_is_closed_after_each_answer(drydock: Drydock) -> None:
    assert drydock.get("nodes").headers["Connection"] == "close"
