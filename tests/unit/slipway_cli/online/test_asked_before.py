"""What is asked before an action is created: about deployed nodes, and about nodes that it would erase first."""

from __future__ import annotations

import json

import pytest

from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import Server, action


def test_deployed_nodes_that_would_be_touched_are_asked_about(slipway: Slipway, server: Server) -> None:
    server.foresee(deployed=("n1",), withheld=("n2",))
    result = slipway("create", "action", "update_site", "--force")
    assert result.exit_code == 1
    assert "not to be touched: n2" in result.stderr
    assert "nothing was done: n1 of site default would be touched though deployed already" in result.stderr
    assert server.request.path_url.partition("?")[0].endswith("/actions/preview")
    assert json.loads(server.request.body) == {"name": "update_site", "parameters": {"force": True}}


def test_yes_asks_nothing_about_deployed_nodes(slipway: Slipway, server: Server) -> None:
    server.on("POST", "/actions", action(), 201)
    assert slipway("create", "action", "update_site", "--force", "--yes").exit_code == 0


def test_without_a_terminal_it_goes_on_where_deployed_nodes_are_left_alone(slipway: Slipway, server: Server) -> None:
    server.foresee(withheld=("n2",))
    server.on("POST", "/actions", action(), 201)
    result = slipway("create", "action", "update_site")
    assert (result.exit_code, "not to be touched: n2" in result.stderr) == (0, True)


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("n\n", 1), ("", 1)])
def test_on_a_terminal_deployed_nodes_are_asked_about(
    slipway: Slipway, server: Server, monkeypatch: pytest.MonkeyPatch, answer: str, status: int
) -> None:
    monkeypatch.setattr("slipway_cli.online.create.is_terminal", lambda: True)
    server.foresee(withheld=("n2",))
    if status == 0:
        server.on("POST", "/actions", action(), 201)
    result = slipway("create", "action", "update_site", stdin=answer)
    assert result.exit_code == status
    assert "update_site of site default at http://127.0.0.1:1: go on?" in result.stderr


def test_rule_11_nodes_that_would_be_erased_first_are_asked_about(
    slipway: Slipway, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slipway_cli.online.create.is_terminal", lambda: True)
    server.foresee(released=("n3",))
    result = slipway("create", "action", "update_site", stdin="n\n")
    assert result.exit_code == 1
    assert "released first: n3" in result.stderr
    assert "update_site of site default at http://127.0.0.1:1: go on?" in result.stderr
