"""What an interrupted demo has left behind is stopped and waited for by the next one, and nothing else is."""

import io
import time

import pytest
import responses
from rich.console import Console

from api_client.session import ApiError, ApiRefused, ApiSession
from api_client.slipway import SlipwayClient
from slipway_cli.demo.command import DEMO, stop_interrupted_demos
from slipway_cli.terminal.follow import Clock

ACTIONS = "http://127.0.0.1:1/slipway/api/v1.0/actions"


def action(name: str, state: str = "running", marker: str = DEMO) -> dict[str, str]:
    return {"id": name, "run_id": f"example__{name}", "name": "deploy_site", "state": state, "context_marker": marker}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)


def stop(time_limit: float = 30.0) -> str:
    said = io.StringIO()
    session = ApiSession.with_token("http://127.0.0.1:1", "admin", "t")
    stop_interrupted_demos("example", SlipwayClient(session), Clock(Console(file=said, width=200)), time_limit)
    return said.getvalue()


def test_only_open_actions_of_demos_are_stopped(wire: responses.RequestsMock) -> None:
    listed = [action("DEMO"), action("OVER", "failed"), action("OTHERS", "running", "another")]
    wire.get(ACTIONS, json=listed, match=[responses.matchers.query_param_matcher({"site": "example", "limit": 50})])
    stopped = wire.post(f"{ACTIONS}/DEMO/control/stop", status=202)
    wire.get(f"{ACTIONS}/DEMO", json=action("DEMO", "cancelled"))
    assert "stopping the action of an interrupted demo, DEMO" in stop()
    assert stopped.call_count == 1


def test_rule_24_the_next_demo_waits_until_the_action_is_closed(wire: responses.RequestsMock) -> None:
    wire.get(ACTIONS, json=[action("DEMO")])
    wire.post(f"{ACTIONS}/DEMO/control/stop", json={"message": "dag_run state must be running"}, status=409)
    answers = [wire.get(f"{ACTIONS}/DEMO", json=action("DEMO", state)) for state in ("running", "failed")]
    assert "waiting until it has ended and the site is free" in stop()
    assert [answer.call_count for answer in answers] == [1, 1]


def test_an_action_that_does_not_end_is_not_waited_for_forever(wire: responses.RequestsMock) -> None:
    wire.get(ACTIONS, json=[action("DEMO")])
    wire.post(f"{ACTIONS}/DEMO/control/stop", status=202)
    wire.get(f"{ACTIONS}/DEMO", json=action("DEMO"))
    with pytest.raises(ApiError, match=r"DEMO of an interrupted demo .* has not ended in 0 s; try again"):
        stop(time_limit=0)


def test_a_refusal_to_stop_is_told(wire: responses.RequestsMock) -> None:
    wire.get(ACTIONS, json=[action("DEMO")])
    wire.post(f"{ACTIONS}/DEMO/control/stop", json={"message": "no right"}, status=403)
    with pytest.raises(ApiRefused, match="no right"):
        stop()


def test_nothing_is_said_where_nothing_is_left(wire: responses.RequestsMock) -> None:
    wire.get(ACTIONS, json=[])
    assert stop() == ""
