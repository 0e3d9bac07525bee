"""The controller's process: its parts, its account, how it sends notifications, and what it does not start with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

from api_client.airflow import AirflowClient
from api_client.session import ApiRefused, ApiUnreachable, RequestRefused
from api_client.slipway import SlipwayClient
from site_engine.errors import NotDelivered
from site_engine.extensions import ExtensionError
from site_store import Lease, OutboxRecord
from slipway_cli.controller import ServiceAccount, _work, courier, run_id_of, service_account
from slipway_cli.main import main
from strategy_lib.parsing.notifications import Notifier, Target, Webhook
from strategy_lib.settings import SettingError


class Waiting:
    """Stands for the signal that ends the process."""

    def __init__(self) -> None:
        self._told = threading.Event()

    def pause(self, seconds: float) -> bool:
        return self._told.wait(seconds)

    def wake(self) -> None:
        self._told.set()


def test_a_part_that_fails_ends_the_others_and_all_leases_are_given_back() -> None:
    given_back: list[str] = []
    defect = RuntimeError("a defect")
    over: list[bool] = []

    def fails(pause: Callable[[float], bool]) -> None:
        raise defect

    parts = {
        "sites": (fails, lambda: given_back.append("sites")),
        "jobs": (lambda pause: over.append(pause(60)), lambda: given_back.append("jobs")),
    }
    assert _work(cast(Any, Waiting()), parts) is defect
    assert (given_back, over) == (["sites", "jobs"], [True])


def test_one_that_is_told_to_end_gives_back_first_whatever_it_waits_for() -> None:
    signal, answer = Waiting(), threading.Event()

    def hangs(pause: Callable[[float], bool]) -> None:
        signal.wake()
        answer.wait(60)

    assert _work(cast(Any, signal), {"jobs": (hangs, answer.set)}) is None


MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
EVENT = OutboxRecord(1, "01EVENT", "north", "verdict", None, None, MOMENT, {})
HELD = Lease("controller", "me", 7, MOMENT, "secret")
CHAT, MAIL = Target("chat", Webhook("hook")), Target("mail", Notifier("smtp"))


class Api:
    """Both APIs: what was asked of them, and what they answer."""

    def __init__(self, answer: str | Exception | None = None) -> None:
        self.answer = answer
        self.asked: list[tuple[Any, ...]] = []

    def deliver(self, *asked: Any) -> str | None:
        return self._say(asked)

    def trigger(self, dag_id: str, conf: Mapping[str, Any], run_id: str) -> str | None:
        return self._say((dag_id, dict(conf), run_id))

    def _say(self, asked: tuple[Any, ...]) -> str | None:
        self.asked.append(asked)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def send(api: Api, target: Target) -> None:
    courier(cast(AirflowClient, api), cast(SlipwayClient, api))(EVENT, target, HELD)


def test_a_webhook_is_sent_by_slipways_api_under_the_lease() -> None:
    api = Api()
    send(api, CHAT)
    assert api.asked == [("01EVENT", "chat", HELD)]


def test_what_the_receiver_does_not_take_is_not_delivered() -> None:
    with pytest.raises(NotDelivered, match="answers 503"):
        send(Api("the receiver answers 503"), CHAT)


def test_a_notifier_is_one_run_of_the_dag() -> None:
    api = Api()
    send(api, MAIL)
    send(api, MAIL)
    run_id = run_id_of(EVENT, "mail")
    assert api.asked == [("notify", {"event_id": "01EVENT", "target": "mail"}, run_id)] * 2
    assert run_id.startswith("north__01EVENT__")
    assert run_id != run_id_of(EVENT, "mail/..")


def test_a_run_that_is_there_already_is_the_one_that_was_asked_for() -> None:
    send(Api(RequestRefused("triggering notify", 409, "there is one")), MAIL)


@pytest.mark.parametrize(("status", "target"), [(403, MAIL), (404, MAIL), (403, CHAT), (409, CHAT)])
def test_a_refusal_is_no_delivery(status: int, target: Target) -> None:
    with pytest.raises(NotDelivered):
        send(Api(RequestRefused("asking", status, "no")), target)


@pytest.mark.parametrize("error", [ApiUnreachable("away"), ApiRefused("asking", 503, "later")])
def test_of_an_api_that_is_away_nothing_is_known(error: Exception) -> None:
    for target in (CHAT, MAIL):
        with pytest.raises(type(error)):
            send(Api(error), target)


FILE = "SLIPWAY_SERVICE_PASSWORD_FILE"


def test_without_a_password_there_is_none() -> None:
    assert service_account({"SLIPWAY_SERVICE_USER": "robot"}) is None


def test_from_the_environment() -> None:
    assert service_account({"SLIPWAY_SERVICE_PASSWORD": "x"}) == ServiceAccount("slipway", "x")
    environ = {"SLIPWAY_SERVICE_USER": "robot", "SLIPWAY_SERVICE_PASSWORD": "x", FILE: "/nowhere"}
    assert service_account(environ) == ServiceAccount("robot", "x")


def test_from_a_file_that_only_its_owner_can_read(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("from the file\n")
    file.chmod(0o600)
    assert service_account({FILE: str(file)}) == ServiceAccount("slipway", "from the file")
    file.chmod(0o640)
    with pytest.raises(SettingError, match="chmod 600"):
        service_account({FILE: str(file)})


@pytest.mark.parametrize(("content", "why"), [(None, "cannot be read"), (b"\n", "is empty"), (b"\xff", "is no text")])
def test_a_file_that_is_of_no_use_is_named(tmp_path: Path, content: bytes | None, why: str) -> None:
    file = tmp_path / "password"
    if content is not None:
        file.write_bytes(content)
        file.chmod(0o600)
    with pytest.raises(SettingError, match=why) as caught:
        service_account({FILE: str(file)})
    assert str(file) in str(caught.value)


def test_the_password_is_in_no_representation() -> None:
    assert "hidden" not in repr(ServiceAccount("slipway", "hidden"))


SAID = "watcher 'bad' (acme:tell of acme 2.1) is a function: it must be a site_engine.watchers.DesignWatcher"


@pytest.mark.parametrize("command", ["up", "controller"])
def test_rule_42_a_bad_registration_is_refused_at_the_start(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise ExtensionError(SAID)

    monkeypatch.setattr("slipway_cli.controller.check_installed", refuse)
    monkeypatch.setattr("slipway_cli.up.check_installed", refuse)
    monkeypatch.setattr("slipway_cli.controller.StopSignal", lambda: None)
    monkeypatch.setenv("SLIPWAY_SERVICE_USER", "service")
    monkeypatch.setenv("SLIPWAY_SERVICE_PASSWORD", "secret-secret")
    result = CliRunner().invoke(main, [command])
    assert (result.exit_code, result.output.splitlines()[-1]) == (1, f"Error: {SAID}")
