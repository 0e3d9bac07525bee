"""What a shell is offered when somebody presses the tab key."""

from __future__ import annotations

import pytest
import requests

from tests.unit.slipway_cli.conftest import Slipway, offered
from tests.unit.slipway_cli.online.conftest import ID, Server, action

OTHER = "01BRZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def known(server: Server) -> Server:
    """A server that knows two actions."""
    server.mock.assert_all_requests_are_fired = False
    steps = [{"id": "acquire", "state": "success"}, {"id": "deploy_group.control", "state": "failed"}]
    shown = action(steps=steps, groups=[{"name": "control", "state": "failure"}])
    server.on("GET", "/actions", [shown, action(id=OTHER, name="update_site", action_lifecycle="Complete")])
    server.on("GET", f"/actions/{ID}", shown)
    server.on("GET", "/sites", [{"name": "lab-7", "status": "error"}, {"name": "plant", "status": None}])
    server.on("GET", "/sites/default/nodes", {"nodes": [{"node": "r1-n1", "status": "success"}]})
    server.on("GET", "/configdocs", [{"collection_name": "design", "new_status": "unmodified"}])
    groups = [{"name": "control", "status": "error"}, {"name": "no group", "status": "success"}]
    server.on("GET", "/sites/default/tree", {"root": {"children": groups}})
    return server


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("describe", "action", ""), [ID, OTHER]),
        (("describe", "action", "01A"), [ID]),
        (("describe", "action/"), [f"action/{ID}", f"action/{OTHER}"]),
        (("describe", "action/01B"), [f"action/{OTHER}"]),
        (("stop", "action/01A"), [f"action/{ID}"]),
        (("report", "action/01A"), [f"action/{ID}"]),
        (("logs", "step/01A"), [f"step/{ID}/"]),
        (("logs", f"step/{ID}/dep"), [f"step/{ID}/deploy_group.control"]),
        (("logs", "step", "--action", ID, "a"), ["acquire"]),
        (("describe", "act"), ["action"]),
        (("get", "actions", "--site", ""), ["lab-7", "plant"]),
        (("--site", "l"), ["lab-7"]),
        (("describe", "site/p"), ["site/plant"]),
        (("describe", "node/r1"), ["node/r1-n1"]),
        (("create", "action", "redeploy_server", "-n", "r1-n2,r1"), ["r1-n2,r1-n1"]),
        (("get", "nodes", "--group", "c"), ["control"]),
        (("describe", "nothing/"), []),
        (("edit", "configdocs", "d"), ["design"]),
        (("create", "configdocs", "d"), ["design"]),
        (("open", "site/p"), ["site/plant"]),
        (("open", "node/r1"), ["node/r1-n1"]),
    ],
)
def test_words_that_the_server_knows(known: Server, words: tuple[str, ...], expected: list[str]) -> None:
    assert offered(*words) == expected


def test_the_site_on_the_command_line_is_asked_about(known: Server) -> None:
    assert offered("--site", "lab-7", "describe", "action", "01A") == [ID]
    assert known.request.params["site"] == "lab-7"
    assert offered("describe", "action", "--site", "lab-8", "01A") == [ID]
    assert known.request.params["site"] == "lab-8"


@pytest.mark.parametrize("failure", ["away", "refused", "other"])
def test_what_cannot_be_asked_is_not_offered(server: Server, failure: str) -> None:
    if failure == "away":
        server.on("GET", "/actions", body=requests.ConnectionError("refused"))
    elif failure == "refused":
        server.refuse("GET", "/actions", 401, "who are you?")
    else:
        server.on("GET", "/actions", {"detail": "this is not a list of actions"})
    assert offered("describe", "action", "") == []


def test_without_a_server_nothing_is_offered(slipway: Slipway) -> None:
    assert offered("describe", "action", "") == []
