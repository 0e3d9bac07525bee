"""Steps of an action: derived from the store, and as Airflow gives them."""

from __future__ import annotations

from collections import defaultdict
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from site_engine.actions.kinds import kind_of
from site_engine.errors import AirflowApiError
from site_store import ActionState, StepRecord, StepState
from slipway_api.actions import steps as steps_module
from slipway_api.actions.steps import (
    StepTask,
    airflow_steps,
    derived_steps,
    describe_step,
    shown_steps,
    step_data,
    task_of,
)
from strategy_lib.phase import GroupState
from tests.unit.site_engine.records import CREATED, ID, record

GROUPS = (("control", GroupState.SUCCESS), ("compute", GroupState.RUNNING), ("storage", GroupState.PENDING))
SITE_STEPS = kind_of("deploy_site").steps


def states(steps: list[dict[str, Any]]) -> dict[str, str | None]:
    """Return step ids to states."""
    return {step["id"]: step["state"] for step in steps}


def test_a_step_has_exactly_the_fields_of_shipyard() -> None:
    assert step_data(ID, "deploy_group.a b", 7, None) == {
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


def test_the_last_step_that_began_runs_and_those_before_it_succeeded() -> None:
    found = states(derived_steps(record(step="verify_site"), ()))
    assert [name for name, state in found.items() if state == "success"] == list(SITE_STEPS[:3])
    assert found["verify_site"] == "running"
    assert found["prepare_site"] is None
    assert found["release"] is None


def test_every_group_is_a_step_between_the_plan_and_the_report() -> None:
    found = states(derived_steps(record(step="deploy_group"), GROUPS))
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
    done = derived_steps(record(state=ActionState.SUCCESS, step="report"), groups)
    assert states(done)["deploy_group.compute"] == "failed"
    assert states(done)["report"] == "success"
    failed = states(derived_steps(record(state=ActionState.FAILED, step="report"), groups))
    assert (failed["plan_groups"], failed["report"], failed["release"]) == ("success", "failed", "success")


def test_of_a_failure_before_the_plan_no_step_is_said_to_have_succeeded() -> None:
    found = states(derived_steps(record(state=ActionState.FAILED, step="report"), ()))
    assert {found[name] for name in SITE_STEPS} == {None}
    assert (found["report"], found["release"]) == ("failed", "success")


def test_a_cancelled_action_failed_at_the_step_where_it_was() -> None:
    found = states(derived_steps(record(state=ActionState.CANCELLED, step="prepare_site"), ()))
    assert (found["verify_site"], found["prepare_site"], found["plan_groups"]) == ("success", "failed", None)


def test_of_an_action_that_was_stopped_before_it_began_no_step_has_a_state() -> None:
    steps = derived_steps(record(state=ActionState.CANCELLED), ())
    assert states(steps) == dict.fromkeys((*SITE_STEPS, "after_success", "report", "release"))


def test_the_groups_of_a_stopped_action_are_what_became_of_them() -> None:
    groups = (("control", GroupState.SUCCESS), ("compute", GroupState.RUNNING), ("storage", GroupState.PENDING))
    stopped = record(state=ActionState.CANCELLED, step="deploy_group")
    # So Airflow says it of a run that is marked failed.
    instances = [{"task_id": "deploy_group", "map_index": index, "state": "failed"} for index in range(3)]
    for steps in (airflow_steps(stopped, groups, instances), derived_steps(stopped, groups)):
        found = states(steps)
        assert [found[f"deploy_group.{name}"] for name, _ in groups] == ["success", "failed", None]


def test_a_dry_run_skips_what_it_does_not_submit() -> None:
    rehearsed = (("control", GroupState.PENDING),)
    done = record(state=ActionState.SUCCESS, step="report", dry_run=True)
    skipped = [name for name, state in states(derived_steps(done, rehearsed)).items() if state == "skipped"]
    assert skipped == ["verify_site", "prepare_site", "deploy_group.control", "after_success"]


def test_kinds_without_groups_have_none() -> None:
    assert "relabel_nodes" in states(derived_steps(record("relabel_nodes"), ()))
    assert not any(name.startswith("deploy_group") for name in states(derived_steps(record("relabel_nodes"), GROUPS)))


def test_a_kind_of_another_version_has_no_steps() -> None:
    assert derived_steps(record("update_software"), ()) == []
    assert task_of(record("update_software"), (), "acquire") is None


@pytest.mark.parametrize(
    ("step", "task"),
    [
        ("acquire", StepTask("acquire")),
        ("release", StepTask("release")),
        ("deploy_group.control", StepTask("deploy_group", 0)),
        ("deploy_group.storage", StepTask("deploy_group", 2)),
        ("deploy_group.network", None),
        ("deploy_group", None),
        ("destroy_nodes", None),
        ("", None),
    ],
)
def test_a_step_is_a_task_of_the_run(step: str, task: StepTask | None) -> None:
    assert task_of(record(), GROUPS, step) == task


def test_airflow_gives_the_states_and_the_plan_the_names() -> None:
    instances = [
        {"task_id": "release", "map_index": -1, "state": None},
        {"task_id": "deploy_group", "map_index": 1, "state": "deferred", "rendered_map_index": "other"},
        {"task_id": "deploy_group", "map_index": 0, "state": "failed"},
        {"task_id": "deploy_group", "map_index": 7, "state": None, "rendered_map_index": "late"},
        {"task_id": "acquire", "map_index": -1, "state": "success"},
        {"task_id": "added_later", "map_index": -1, "state": "queued"},
    ]
    found = airflow_steps(record(), GROUPS, instances)
    assert [(step["index"], step["id"], step["state"]) for step in found] == [
        (1, "acquire", "success"),
        (2, "deploy_group.control", "failed"),
        (3, "deploy_group.compute", "deferred"),
        (4, "deploy_group.late", None),
        (5, "release", None),
        (6, "added_later", "queued"),
    ]


def test_a_group_that_was_judged_with_the_plan_has_no_task_of_its_own() -> None:
    groups = (("control", GroupState.SUCCESS), ("compute", GroupState.RUNNING), ("storage", GroupState.FAILURE))
    mapped = {"compute": 0}
    instances = [
        {"task_id": "plan_groups", "map_index": -1, "state": "success"},
        {"task_id": "deploy_group", "map_index": 0, "state": "running"},
    ]
    found = airflow_steps(record(), groups, instances, (), mapped)
    assert [(step["id"], step["state"]) for step in found] == [
        ("plan_groups", "success"),
        ("deploy_group.control", "success"),
        ("deploy_group.compute", "running"),
        ("deploy_group.storage", "failed"),
    ]
    assert task_of(record(), groups, "deploy_group.compute", mapped) == StepTask("deploy_group", 0)
    assert task_of(record(), groups, "deploy_group.storage", mapped) == StepTask("plan_groups")


def test_a_group_that_another_one_blocks_is_skipped() -> None:
    groups = (("control", GroupState.FAILURE), ("compute", GroupState.FAILURE))
    over = record(state=ActionState.FAILED, step="report")
    noted = [
        StepRecord(ID, "deploy_group", "control", StepState.FAILED, 1, CREATED, CREATED),
        StepRecord(ID, "deploy_group", "compute", StepState.SKIPPED, 1, CREATED, CREATED, "blocked by control"),
    ]
    instances = [{"task_id": "deploy_group", "map_index": index, "state": "failed"} for index in range(2)]
    for steps in (shown_steps(over, groups, instances, noted), shown_steps(over, groups, (), noted)):
        found = states(steps)
        assert [found[f"deploy_group.{name}"] for name, _ in groups] == ["failed", "skipped"]


def test_the_task_that_only_colours_the_run_is_no_step() -> None:
    instances = [{"task_id": name, "map_index": -1, "state": "success"} for name in ("report", "release", "verdict")]
    assert [step["id"] for step in airflow_steps(record(), (), instances)] == ["report", "release"]


def test_a_task_that_is_not_mapped_yet_is_no_group() -> None:
    assert airflow_steps(record(), (), [{"task_id": "deploy_group", "map_index": -1, "state": None}]) == []


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
    instances: list[dict[str, Any]] = [
        {"task_id": "deploy_group", "map_index": -1, "state": "skipped", "try_number": 0},
        *({"task_id": "deploy_group_beside", "map_index": n, "state": "deferred", "try_number": 1} for n in (0, 1)),
    ]
    found = states(airflow_steps(action, GROUPS[:2], instances))
    assert found == {"deploy_group.control": "deferred", "deploy_group.compute": "deferred"}
    assert task_of(action, GROUPS, "deploy_group.compute") == StepTask("deploy_group_beside", 1)
    assert task_of(action, GROUPS, "deploy_group_beside") is None
