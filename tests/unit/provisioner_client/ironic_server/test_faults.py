"""How long a stage of a machine in the embedded Ironic takes, and whether it fails."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from provisioner_client.ironic_server.hardware import slipway_faults
from provisioner_client.ironic_server.hardware.slipway_faults import CAUSES, MACHINES, SECONDS, chosen_script, play
from provisioner_client.ironic_server.program import IRONIC_SCRIPTS, write_machines
from provisioner_client.simulator.scripts import parse_fail_option, parse_script

SPEED = 1000.0


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "machines.json"
    monkeypatch.setenv(MACHINES, str(found))
    return found


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


def say(file: Path, *fails: str, **script: Any) -> None:
    scripts = [parse_fail_option(text, IRONIC_SCRIPTS) for text in fails]
    write_machines(file, SPEED, [*scripts, *([parse_script(script, IRONIC_SCRIPTS)] if script else [])])


def test_the_stages_are_those_that_a_script_may_name() -> None:
    assert set(SECONDS) == {(phase.value, stage) for phase, stages in IRONIC_SCRIPTS.stages.items() for stage in stages}
    assert set(CAUSES) == {stage for _, stage in SECONDS}


@pytest.mark.usefixtures("slept")
def test_a_fault_of_a_phase_is_one_of_its_main_stage_and_says_why(file: Path) -> None:
    say(file, "prepare:n1", "deploy:n1", "destroy:n1")
    failing = {stage for stage in SECONDS if play("n1", *stage)}
    assert failing == {("prepare", "clean"), ("deploy", "deploy"), ("destroy", "tear_down")}
    assert play("n1", "deploy", "deploy") == CAUSES["deploy"]
    say(file, node="n1", phase="prepare", stage="inspect", behaviour="fail", message="no answer from the BMC")
    assert play("n1", "prepare", "inspect") == "no answer from the BMC"
    assert play("n1", "prepare", "clean") is None
    assert play("n2", "prepare", "inspect") is None


def test_a_name_goes_before_a_pattern_and_the_later_of_two_before_the_earlier(file: Path) -> None:
    say(file, "deploy:n1:slow", "deploy:n*", "deploy:r*:stuck", "deploy:r1-*:ok")
    order = json.loads(file.read_text())
    found = {
        name: chosen_script(order, name, "deploy", "deploy").get("behaviour") for name in ("n1", "n2", "r1-1", "x")
    }
    assert found == {"n1": "slow", "n2": "fail", "r1-1": "ok", "x": None}


def test_a_stage_takes_its_time_by_the_speed_and_a_slow_one_five_times_as_long(file: Path, slept: list[float]) -> None:
    say(file, "deploy:slow:slow")
    for name in ("usual", "slow"):
        assert play(name, "deploy", "deploy") is None
    usual, slow = slept
    seconds = SECONDS["deploy", "deploy"] / SPEED
    assert 0.85 * seconds <= usual <= 1.2 * seconds
    assert 4.25 * seconds <= slow <= 6 * seconds


def test_a_stage_that_is_stuck_goes_on_once_the_file_says_so(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    say(file, "deploy:n1:stuck")
    looks: list[float] = []

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 4:
            say(file, "deploy:n1:fail")

    monkeypatch.setattr(time, "sleep", sleep)
    assert play("n1", "deploy", "deploy") == CAUSES["deploy"]
    assert looks[1:] == [slipway_faults._TICK] * 3
