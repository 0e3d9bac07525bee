"""Kill -9 of a worker at the worst moments, at a simulator: one submission, and the right record (rules 12, 45)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import site_store.operations.operations as operations_module
from design_rendering.design import read_design
from design_rendering.reading.documents import load_documents
from site_engine.actions.node_steps import NodeStepVerdict
from site_engine.operations import run as operation_run
from site_engine.operations.readiness import Answer
from site_store import ActionState
from site_store.operations.operations import Operations
from strategy_lib.goals.node_errors import ErrorCode, ReportState, Standing
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.reported import Reported
from strategy_lib.phase import GroupState, Phase
from strategy_lib.status.words import Status
from tests.support.driving import Begin
from tests.support.processes import die, do_and_be_killed
from tests.support.simulators import Simulator
from tests.support.sites import document, group, node, site
from tests.support.stores import errors_of, node_of

SITE = "alpha"
TEXT = site([node("a"), node("b"), node("c")], [group("all", maximum_failed_nodes=1)])


def before(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    monkeypatch.setattr(owner, name, die)


def after(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    done = getattr(owner, name)

    def work(*arguments: Any, **more: Any) -> None:
        done(*arguments, **more)
        die()

    monkeypatch.setattr(owner, name, work)


MOMENTS: dict[str, tuple[Callable[[pytest.MonkeyPatch, Any, str], None], Any, str]] = {
    "between submitting and storing": (before, Operations, "mark_submitted"),
    "after storing": (after, Operations, "mark_submitted"),
    "before the result": (before, Operations, "record_outcome"),
    # Within the transaction: nodes are written, and nothing is committed.
    "during the result": (after, operations_module, "follow_operation"),
    "after the result": (after, Operations, "record_outcome"),
}
# One of them in each run of the tests. Behind the first, who comes waits for the end of the dead one's lease, which is
# shorter here.
EACH = [
    pytest.param(moment, marks=() if moment == "during the result" else pytest.mark.endurance) for moment in MOMENTS
]


@pytest.fixture(autouse=True)
def _short_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation_run, "LEASE_SECONDS", 3.0)


def drive_and_be_killed(drive: Callable[[], object], moment: str) -> None:
    """Drive something in a process that is killed at this moment."""
    how, *where = MOMENTS[moment]

    def work() -> None:
        how(pytest.MonkeyPatch(), *where)
        drive()

    do_and_be_killed(work)


@pytest.mark.parametrize("moment", EACH)
def test_rule_12_kill_9_of_the_worker_leaves_one_submission_and_the_right_record(
    begin: Begin, simulator: Simulator, moment: str
) -> None:
    simulator.script("b", "prepare", "fail", message="no answer to PXE")
    driving = begin(TEXT)
    driving.settle = 0.2
    drive_and_be_killed(lambda: driving.group("all"), moment)
    assert driving.finish().state is GroupState.SUCCESS
    assert simulator.submissions() == [("prepare_nodes", ["a", "b", "c"]), ("deploy_nodes", ["a", "c"])]
    assert simulator.double() == {}
    assert driving.states() == {"a": "success", "b": "failure", "c": "success"}
    (error,) = errors_of(driving.store, SITE, "b")
    prepared = driving.store.operations.of_action(driving.action.id, "all")[0]
    assert (error.error.op, error.error.provisioner_task) == (prepared.op, prepared.provisioner_task)
    assert (error.error.code, error.state, error.standing) == (
        ErrorCode.PROVISIONER,
        ReportState.FAILED,
        Standing.SHOWN,
    )
    assert "no answer to PXE" in error.error.text
    known = node_of(driving.store, SITE, "b")
    assert known is not None
    assert known.failures == 1
    assert errors_of(driving.store, SITE, "a") == []


@pytest.mark.parametrize("moment", EACH)
@pytest.mark.parametrize("step", [Phase.RELABEL, Phase.DESTROY])
def test_rule_25_kill_9_within_what_an_update_does_in_place_leaves_one_submission(
    begin: Begin, simulator: Simulator, step: Phase, moment: str
) -> None:
    """New labels, and the removal of a node that left the design: rows keep which nodes, so another try goes on."""
    first = begin(TEXT)
    first.group("all")
    first.store.actions.close(first.action.id, ActionState.SUCCESS, "done")
    text = site([node("a"), node("b")], [group("all")]).replace("role: compute", "role: storage")
    driving = begin(text, "run-2")
    driving.settle = 0.2
    nodes = ["a", "b"] if step is Phase.RELABEL else ["c"]
    driving.store.tasks.plan_step(driving.action.id, step, nodes)
    design = read_design(load_documents(text)).keyed(driving.store.secret_texts.digest_key())
    digests = design.digests if step is Phase.RELABEL else {}
    # The simulator reads the design that has c where it was published.
    refs = {} if step is Phase.RELABEL else {"c": first.design_ref}
    before = len(simulator.submissions())

    def drive() -> object:
        return driving.node_step(step, nodes, digests=digests, design_refs=refs)

    drive_and_be_killed(drive, moment)
    ended = drive()
    assert isinstance(ended, NodeStepVerdict)
    assert ended.failure == ""
    assert simulator.submissions()[before:] == [(step.value, nodes)]
    assert simulator.double() == {}
    assert driving.step_states(step) == dict.fromkeys(nodes, "success")
    known = {record.name: record for record in driving.store.nodes.of_site(SITE)}
    if step is Phase.RELABEL:
        assert [(known[name].done_digest, known[name].done_version) for name in nodes] == [
            (digests[name], 2) for name in nodes
        ]
    else:
        assert (known["c"].done_digest, known["c"].standing) == (None, Status.DELETED)


@pytest.mark.endurance
@pytest.mark.parametrize("moment", ["before the result", "during the result", "after the result"])
def test_rule_58_kill_9_while_nodes_are_asked_deploys_nothing_again(
    begin: Begin, simulator: Simulator, moment: str
) -> None:
    """Nothing is submitted to ask: who comes back goes on with the nodes that are left, until the same deadline."""
    nodes = [node(name) for name in ("a", "b", "c")]
    for number, one in enumerate(nodes, 1):
        one["data"]["addressing"] = [{"network": "oob", "address": f"10.0.0.{number}"}]
    asks = {**group("all", maximum_failed_nodes=1), "ready": {"timeout": 6}}
    settings = document(
        "slipway/SiteSettings/v1", "settings", {"node_states": {"health_url": "http://{address:oob}:1/"}}
    )
    driving = begin(f"{site(nodes, [asks])}---\n{json.dumps(settings)}\n")
    asked: list[tuple[str, ...]] = []

    async def answers(_: str, urls: Mapping[str, str], __: int) -> Mapping[str, Answer]:
        asked.append(tuple(urls))
        up = Reported(NodeAvailability.UP, "")
        return {name: up if name == "a" or (name == "b" and len(asked) > 1) else "no answer" for name in urls}

    async def killed(_: str, urls: Mapping[str, str], __: int) -> Mapping[str, Answer]:
        how, *where = MOMENTS[moment]
        how(pytest.MonkeyPatch(), *where)
        return await answers(_, urls, __)

    driving.ask = killed
    do_and_be_killed(lambda: driving.group("all"))
    driving.ask = answers
    assert driving.finish().state is GroupState.SUCCESS
    assert driving.states() == {"a": "success", "b": "success", "c": "failure"}
    assert simulator.submissions() == [("prepare_nodes", ["a", "b", "c"]), ("deploy_nodes", ["a", "b", "c"])]
    assert asked[0] == (("b", "c") if moment == "after the result" else ("a", "b", "c"))
    asking = [one for one in driving.store.operations.of_action(driving.action.id, "all") if one.phase is Phase.READY]
    assert len(asking) == 1
