"""Steps of an action: their states as the store knows them, and which task each is."""

from __future__ import annotations

from collections import defaultdict
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from site_engine.errors import AirflowApiError
from site_engine.kinds import kind_of
from site_store import ActionState, StepRecord, StepState
from slipway_api.actions import steps as steps_module
from slipway_api.actions.steps import (
    StepTask,
    derived_steps,
    describe_step,
    shown_steps,
    task_of,
)
from slipway_api.http.api_errors import ApiError
from strategy_lib.phase import GroupState
from tests.unit.site_engine.records import CREATED, ID, record

GROUPS = (("control", GroupState.SUCCESS), ("compute", GroupState.RUNNING), ("storage", GroupState.PENDING))
MAPPED = {"control": 0, "compute": 1, "storage": 2}
SITE_STEPS = kind_of("deploy_site").steps


def states(steps: list[dict[str, Any]]) -> dict[str, str | None]:
    """Return step ids to states."""
    return {step["id"]: step["state"] for step in steps}


def test_a_step_has_exactly_the_fields_of_shipyard() -> None:
    steps = derived_steps(record(state=ActionState.PENDING), (("a b", GroupState.PENDING),))
    assert steps[6] == {
        "url": f"/actions/{ID}/steps/deploy_group.a%20b",
        "state": None,
        "id": "deploy_group.a b",
        "index": 7,
        "notes": (),
    }


def test_nothing_has_begun_before_the_run_has() -> None:
    steps = derived_steps(record(state=ActionState.PENDING), ())
    assert states(steps) == dict.fromkeys((*SITE_STEPS, "after_success", "report", "release"))
    assert [step["index"] for step in steps] == list(range(1, 10))


def test_every_group_is_a_step_between_the_plan_and_the_report() -> None:
    found = states(derived_steps(record(step="deploy_group"), GROUPS, {"plan_groups": StepState.SUCCESS}))
    assert list(found)[6:] == [
        "deploy_group.control",
        "deploy_group.compute",
        "deploy_group.storage",
        "after_success",
        "report",
        "release",
    ]
    assert [found[f"deploy_group.{name}"] for name, _ in GROUPS] == ["success", "running", None]
    assert found["plan_groups"] == "success"
    assert found["report"] is None


def test_a_failed_group_is_a_failed_step_whatever_the_verdict() -> None:
    groups = (("control", GroupState.SUCCESS), ("compute", GroupState.FAILURE))
    done = derived_steps(record(state=ActionState.SUCCESS, step="report"), groups, {"report": StepState.RUNNING})
    assert states(done)["deploy_group.compute"] == "failed"
    assert (states(done)["report"], states(done)["release"]) == ("success", "success"), "they are closing it"


def test_a_step_that_was_killed_failed_with_its_action() -> None:
    noted = {"verify_site": StepState.SUCCESS, "prepare_site": StepState.DEFERRED}
    found = states(derived_steps(record(step="prepare_site"), (), noted))
    assert (found["verify_site"], found["prepare_site"], found["after_success"]) == ("success", "deferred", None)
    over = states(derived_steps(record(state=ActionState.CANCELLED, step="prepare_site"), (), noted))
    assert (over["verify_site"], over["prepare_site"], over["after_success"]) == ("success", "failed", None)


def test_of_an_action_that_was_stopped_before_it_began_no_step_has_a_state() -> None:
    steps = derived_steps(record(state=ActionState.CANCELLED), ())
    assert states(steps) == dict.fromkeys((*SITE_STEPS, "after_success", "report", "release"))


def test_the_groups_of_a_stopped_action_are_what_became_of_them() -> None:
    groups = (("control", GroupState.SUCCESS), ("compute", GroupState.RUNNING), ("storage", GroupState.PENDING))
    found = states(derived_steps(record(state=ActionState.CANCELLED, step="deploy_group"), groups))
    assert [found[f"deploy_group.{name}"] for name, _ in groups] == ["success", "failed", None]


def test_a_dry_run_skips_what_it_does_not_submit() -> None:
    rehearsed = (("control", GroupState.PENDING),)
    done = record(state=ActionState.SUCCESS, step="report", dry_run=True)
    ran = ("acquire", "load_design", "validate_design", "plan_groups", "report", "release")
    found = states(derived_steps(done, rehearsed, dict.fromkeys(ran, StepState.SUCCESS)))
    skipped = [name for name, state in found.items() if state == "skipped"]
    assert skipped == ["verify_site", "prepare_site", "deploy_group.control", "after_success"]


def test_kinds_without_groups_have_none() -> None:
    assert "relabel_nodes" in states(derived_steps(record("relabel_nodes"), ()))
    assert not any(name.startswith("deploy_group") for name in states(derived_steps(record("relabel_nodes"), GROUPS)))


def test_a_kind_of_another_version_has_no_steps() -> None:
    assert derived_steps(record("update_software"), ()) == []
    with pytest.raises(ApiError):
        task_of(record("update_software"), {}, "acquire")


@pytest.mark.parametrize(
    ("step", "task"),
    [
        ("acquire", StepTask("begin_action")),
        ("prepare_site", StepTask("site_steps")),
        ("release", StepTask("release")),
        ("deploy_group.control", StepTask("deploy_group", 0)),
        ("deploy_group.storage", StepTask("deploy_group", 2)),
    ],
)
def test_a_step_is_a_task_of_the_run(step: str, task: StepTask) -> None:
    assert task_of(record(), MAPPED, step) == task


@pytest.mark.parametrize("step", ["deploy_group.network", "deploy_group", "destroy_nodes", "", "deploy_group_beside"])
def test_what_is_no_step_has_no_task(step: str) -> None:
    with pytest.raises(ApiError, match="has no step"):
        task_of(record(), MAPPED, step)


def test_a_group_that_was_judged_with_the_plan_has_no_task_of_its_own() -> None:
    mapped = {"compute": 0, "storage": None}
    assert task_of(record(), mapped, "deploy_group.compute") == StepTask("deploy_group", 0)
    assert task_of(record(), mapped, "deploy_group.storage") == StepTask("plan_groups")


def test_a_group_that_another_one_blocks_is_skipped() -> None:
    groups = (("control", GroupState.FAILURE), ("compute", GroupState.FAILURE))
    over = record(state=ActionState.FAILED, step="report")
    noted = [
        StepRecord(ID, "deploy_group", "control", StepState.FAILED, 1, CREATED, CREATED),
        StepRecord(ID, "deploy_group", "compute", StepState.SKIPPED, 1, CREATED, CREATED, "blocked by control"),
    ]
    found = states(shown_steps(over, groups, noted))
    assert [found[f"deploy_group.{name}"] for name, _ in groups] == ["failed", "skipped"]


NOTED = {"plan_groups": StepState.SUCCESS, "report": StepState.FAILED, "release": StepState.FAILED}


def test_what_steps_behind_a_cleared_one_have_noted_before_is_not_shown() -> None:
    again = states(derived_steps(record(step="deploy_group"), GROUPS, NOTED))
    assert (again["plan_groups"], again["report"], again["release"]) == ("success", None, None)
    reported = states(derived_steps(record(step="report"), GROUPS, NOTED | {"report": StepState.RUNNING}))
    assert (reported["report"], reported["release"]) == ("running", None)
    over = states(derived_steps(record(state=ActionState.FAILED, step="report"), GROUPS, NOTED))
    assert (over["report"], over["release"]) == ("failed", "failed")


@pytest.mark.parametrize(
    ("step", "instance", "message"),
    [
        ("report", {"state": "failed", "try_number": 1}, "one failed"),
        ("report", {"state": None, "try_number": 1}, None),
        ("report", {"state": "queued", "try_number": 2}, None),
        ("report", None, "one failed"),
        ("deploy_group", None, None),
    ],
)
def test_the_message_is_that_of_the_attempt_that_is_shown(
    step: str, instance: dict[str, Any] | None, message: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps_module, "notes_by_subject", lambda *_: defaultdict(list))
    row = StepRecord(ID, "report", None, StepState.FAILED, 1, CREATED, CREATED, "one failed")
    store = SimpleNamespace(
        groups=SimpleNamespace(standings=lambda _: []), steps=SimpleNamespace(of_action=lambda _: [row])
    )

    def task_instances(*_: str) -> list[dict[str, Any]]:
        if instance is None:
            raise AirflowApiError("Airflow does not answer")
        return [{"task_id": "report", "map_index": -1, **instance}]

    airflow = SimpleNamespace(task_instances=task_instances)
    store.at_one_moment = lambda: nullcontext(store)
    shown = describe_step(cast(Any, store), cast(Any, airflow), record(step=step), "report", 1)
    assert shown["message"] == message
    assert shown["try_number"] == (1 if message else instance and instance["try_number"])


def test_groups_side_by_side_are_the_same_steps() -> None:
    action = record(step="deploy_group", parameters={"max_parallel_groups": 2})
    assert task_of(action, MAPPED, "deploy_group.compute") == StepTask("deploy_group_beside", 1)
