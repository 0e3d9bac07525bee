"""Contract, rule 12: one reference, one task, whatever is lost on the way; and requests that may be repeated are."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from provisioner_client.designs import DesignSource
from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerRefused,
    ProvisionerUnavailable,
    SubmissionRefused,
    SubmissionUncertain,
)
from provisioner_client.protocol import Provisioner, ProvisionerTask, TaskRef
from provisioner_client.redacting import CallResult
from provisioner_client.tokens import StaticToken
from strategy_lib.phase import Phase
from strategy_lib.strategy import Selector
from tests.contract.servers import ContractDrydock

Connect = Callable[..., Provisioner]
Finish = Callable[..., ProvisionerTask]

REFERENCE = "slipway-a-1"
EARLIER = "slipway-a-0"


@pytest.fixture
def used(simulator: ContractDrydock, connect: Connect, design: DesignSource, finish: Finish) -> ContractDrydock:
    """A provisioner that has had a task before: that its list is empty can then not be true."""
    earlier = connect(simulator.address)
    finish(earlier, earlier.submit(Phase.VERIFY_SITE, design, None, EARLIER))
    return simulator


def _tasks(simulator: ContractDrydock) -> list[tuple[str, str]]:
    """Return id and reference of each task but the earlier one."""
    return [(task_id, str(reference)) for task_id, reference in simulator.tasks() if reference != EARLIER]


@pytest.mark.parametrize(
    ("fault", "posts"),
    [
        pytest.param({"kind": "reset_before"}, 2, id="reset before it took effect"),
        pytest.param({"kind": "reset_after"}, 1, id="reset after it took effect"),
        pytest.param({"kind": "truncated"}, 1, id="half an answer"),
        pytest.param({"kind": "status", "status": 500, "shape": "a"}, 2, id="500 shape a"),
        pytest.param({"kind": "status", "status": 500, "shape": "b"}, 2, id="500 shape b"),
        pytest.param({"kind": "status", "status": 500, "shape": "c"}, 2, id="500 shape c"),
        pytest.param({"kind": "status", "status": 500, "shape": "d"}, 2, id="500 shape d"),
        pytest.param({"kind": "status", "status": 500, "after": True}, 1, id="500 after it took effect"),
        pytest.param({"kind": "status", "status": 503, "after": True}, 1, id="503 after it took effect"),
        pytest.param({"kind": "status", "status": 429}, 2, id="429"),
        pytest.param({"kind": "status", "status": 429, "retry_after": "0"}, 2, id="429 with Retry-After"),
        pytest.param({"kind": "html"}, 2, id="a proxy's page"),
        pytest.param({"kind": "html", "after": True}, 1, id="a proxy's page after it took effect"),
        pytest.param({"kind": "html", "status": 404, "after": True}, 1, id="a proxy's 404 after it took effect"),
        pytest.param({"kind": "drip", "seconds": 0.0001}, 1, id="byte by byte"),
        pytest.param({"kind": "reset_before", "count": 3}, 4, id="reset three times"),
    ],
)
def test_one_task_though_the_submission_goes_wrong(
    used: ContractDrydock, provisioner: Provisioner, design: DesignSource, fault: dict[str, Any], posts: int
) -> None:
    before = used.posts()
    used.fault(used.submissions_method, used.submissions_path, **fault)
    task_id = provisioner.submit(Phase.PREPARE, design, ["c1", "c2"], REFERENCE)
    assert _tasks(used) == [(task_id, REFERENCE)]
    assert used.posts() - before == posts


@pytest.mark.parametrize(("after", "posts"), [(True, 1), (False, 2)], ids=["took effect", "did not"])
def test_one_task_though_no_answer_comes(
    used: ContractDrydock, connect: Connect, design: DesignSource, after: bool, posts: int
) -> None:
    before = used.posts()
    provisioner = connect(used.address, read_timeout=0.5)
    used.fault(used.submissions_method, used.submissions_path, "timeout", seconds=2, after=after)
    provisioner.submit(Phase.PREPARE, design, ["c1"], REFERENCE)
    assert (len(_tasks(used)), used.posts() - before) == (1, posts)


@pytest.mark.drydock_alone("MAAS keeps its connections open")
def test_trap_28_nothing_is_sent_on_a_connection_that_drydock_may_be_closing(
    simulator: ContractDrydock, provisioner: Provisioner, design: DesignSource, caplog: pytest.LogCaptureFixture
) -> None:
    """On an empty list its loss would be a submission of which nobody knows what became of it."""
    for method, path in (("POST", "validatedesign"), ("GET", "tasks"), ("GET", "nodes")):
        simulator.fault(method, path, "stale", count=10)
    provisioner.validate_design(design)
    task_id = provisioner.submit(Phase.PREPARE, design, ["c1"], REFERENCE)
    provisioner.nodes()
    provisioner.nodes()
    assert _tasks(simulator) == [(task_id, REFERENCE)]
    assert "the connection was lost" not in caplog.text


@pytest.mark.drydock_alone("trap 15: its empty list proves nothing")
def test_the_first_request_to_a_new_provisioner_is_settled_by_the_next_submission(
    simulator: ContractDrydock, provisioner: Provisioner, design: DesignSource
) -> None:
    simulator.fault(simulator.submissions_method, simulator.submissions_path, "reset_before")
    with pytest.raises(SubmissionUncertain, match="does not tell"):
        provisioner.submit(Phase.PREPARE, design, ["c1"], REFERENCE)
    task_id = provisioner.submit(Phase.PREPARE, design, ["c1"], REFERENCE)
    assert _tasks(simulator) == [(task_id, REFERENCE)]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"kind": "reset_after"}, id="reset"),
        pytest.param({"kind": "status", "status": 500, "shape": "a"}, id="500 in the provisioner's own shape"),
        pytest.param({"kind": "status", "status": 503, "retry_after": "0"}, id="503"),
        pytest.param({"kind": "html", "status": 502}, id="a proxy's page"),
        pytest.param({"kind": "html", "status": 200}, id="a proxy's page with 200"),
        pytest.param({"kind": "html", "status": 302}, id="a redirect"),
    ],
)
def test_rule_12_one_task_though_it_takes_effect_long_after_its_answer_was_lost(
    simulator: ContractDrydock, connect: Connect, design: DesignSource, fault: dict[str, Any]
) -> None:
    simulator.fault(simulator.submissions_method, simulator.submissions_path, effect_after=0.4, **fault)
    task_id = connect(simulator.address, settle=5.0).submit(Phase.PREPARE, design, ["c1"], REFERENCE)
    assert simulator.tasks() == [(task_id, REFERENCE)]
    time.sleep(0.5)
    # What is made once, such as a tag or a mark, may be sent again.
    assert simulator.posts() == 1 or simulator.repeats_submissions
    assert simulator.tasks() == [(task_id, REFERENCE)]


def test_one_task_though_it_takes_effect_after_the_client_gave_up(
    simulator: ContractDrydock, connect: Connect, design: DesignSource
) -> None:
    provisioner = connect(simulator.address, read_timeout=0.5)
    simulator.fault(simulator.submissions_method, simulator.submissions_path, "latency", seconds=0.8)
    provisioner.submit(Phase.PREPARE, design, ["c1"], REFERENCE)
    time.sleep(0.5)
    assert len(simulator.tasks()) == 1


def test_submitting_again_joins(simulator: ContractDrydock, connect: Connect, design: DesignSource) -> None:
    first = connect(simulator.address).submit(Phase.PREPARE, design, ["c1"], REFERENCE)
    second = connect(simulator.address).submit(Phase.PREPARE, design, ["c1"], REFERENCE)
    assert first == second
    assert simulator.posts() == 1


@pytest.mark.parametrize(
    "blind",
    [
        # Five looks until the request is settled; what may pass by itself is tried four times in each.
        pytest.param({"kind": "status", "status": 503, "count": 20}, id="busy"),
        pytest.param({"kind": "html", "status": 404, "count": 5}, id="a proxy's 404"),
        pytest.param({"kind": "status", "status": 400, "shape": "a", "count": 5}, id="400"),
        pytest.param({"kind": "status", "status": 302, "shape": "c", "count": 20}, id="a redirect"),
    ],
)
@pytest.mark.drydock_alone("the looks are at its list of tasks")
def test_in_doubt_it_is_left_open_and_the_next_submission_settles_it(
    simulator: ContractDrydock, provisioner: Provisioner, design: DesignSource, blind: dict[str, Any]
) -> None:
    # The first two looks see the empty list of a new provisioner; those after the lost answer see nothing.
    simulator.fault(simulator.submissions_method, simulator.submissions_path, "reset_after")
    simulator.fault("GET", "tasks", skip=2, **blind)
    with pytest.raises(SubmissionUncertain):
        provisioner.submit(Phase.PREPARE, design, ["c1"], REFERENCE)
    task_id = provisioner.submit(Phase.PREPARE, design, ["c1"], REFERENCE)
    assert [task["task_id"] for task in simulator.get("tasks")] == [task_id]
    assert simulator.posts() == 1


def test_what_the_provisioner_itself_refuses_is_certain(
    simulator: ContractDrydock, provisioner: Provisioner, design: DesignSource
) -> None:
    simulator.fault(simulator.submissions_method, simulator.submissions_path, "status", status=400, shape="a")
    with pytest.raises(SubmissionRefused):
        provisioner.submit(Phase.PREPARE, design, ["c1"], REFERENCE)
    assert simulator.tasks() == []


def test_the_guard_is_asked_before_each_sending(
    used: ContractDrydock, provisioner: Provisioner, design: DesignSource
) -> None:
    before = used.posts()
    used.fault(used.submissions_method, used.submissions_path, "reset_before")
    posts: list[int] = []

    def guard() -> None:
        posts.append(used.posts() - before)
        if len(posts) == 2:
            raise LookupError("the lease is lost")

    with pytest.raises(LookupError):
        provisioner.submit(Phase.PREPARE, design, ["c1"], REFERENCE, guard=guard)
    assert posts == [0, 1]
    assert _tasks(used) == []


def test_trap_10_a_running_task_is_found_by_its_reference(
    simulator: ContractDrydock, provisioner: Provisioner, design: DesignSource, finish: Finish
) -> None:
    tasks = {
        reference: provisioner.submit(Phase.PREPARE, design, [node], reference)
        for reference, node in (("slipway-a-1", "c1"), ("slipway-a-12", "c2"), ("slipway-b-1", "w1"))
    }
    for reference, task_id in tasks.items():
        found = provisioner.find(reference)
        assert found is not None
        assert (found.task_id, found.reference) == (task_id, reference)
    for task_id in tasks.values():
        finish(provisioner, task_id)
    deploy = provisioner.submit(Phase.DEPLOY, design, ["c1", "c2"], "slipway-a-2")
    finish(provisioner, deploy)
    found = provisioner.find("slipway-a-2")
    assert found is not None
    assert found.task_id == deploy


def test_rule_61_the_newest_operation_of_a_store_is_that_of_its_own_references(
    provisioner: Provisioner, design: DesignSource, finish: Finish
) -> None:
    action = "01M8J7TQMDR5E8R7BAVGWE91JH"
    for reference, node in (
        (f"slipway-mystore1-{action}-9", "c1"),
        (f"slipway-mystore1-{action}-10", "c2"),
        (f"slipway-theirs22-{action}-99", "w1"),
        (f"slipway-{action}-98", "w4"),
    ):
        finish(provisioner, provisioner.submit(Phase.PREPARE, design, [node], reference))
    assert provisioner.newest_reference("mystore1") == f"slipway-mystore1-{action}-10"
    assert provisioner.newest_reference("another3") is None


class Shown:
    """An observer that keeps the newest operations that were shown."""

    def __init__(self) -> None:
        self.newest: list[Mapping[str, int]] = []

    def called(self, call: str, result: CallResult, seconds: float) -> None: ...

    def shown(self, newest: Mapping[str, int]) -> None:
        self.newest.append(newest)

    def closed(self) -> None: ...


def test_rule_61_what_is_looked_at_anyway_shows_the_newest_operation(
    simulator: ContractDrydock,
    connect: Connect,
    provisioner: Provisioner,
    design: DesignSource,
    finish: Finish,
    backend: str,
) -> None:
    reference = "slipway-mystore1-01M8J7TQMDR5E8R7BAVGWE91JH-9"
    task_id = provisioner.submit(Phase.PREPARE, design, ["c1"], reference)
    finish(provisioner, task_id)
    of_task, of_lists = Shown(), Shown()
    connect(simulator.address, observer=of_task).task(TaskRef(task_id, Phase.PREPARE, reference))
    looking = connect(simulator.address, observer=of_lists)
    # Drydock's list of nodes shows no reference.
    assert looking.find("slipway-a-1") is None if backend == "drydock" else looking.nodes()
    for seen in (of_task, of_lists):
        assert {"mystore1": 9} in seen.newest


# --- requests that may be repeated ----------------------------------------------------------------------------------

TROUBLE = [
    pytest.param({"kind": "status", "status": 500, "shape": shape}, id=f"500 shape {shape}") for shape in "bcd"
] + [
    pytest.param({"kind": "status", "status": 502, "shape": "c"}, id="502"),
    pytest.param({"kind": "status", "status": 503, "shape": "a"}, id="503"),
    pytest.param({"kind": "status", "status": 429}, id="429 without Retry-After"),
    pytest.param({"kind": "status", "status": 429, "retry_after": "0"}, id="429 with Retry-After"),
    pytest.param({"kind": "truncated"}, id="truncated"),
    pytest.param({"kind": "reset_before"}, id="reset before"),
    pytest.param({"kind": "reset_after"}, id="reset after"),
    pytest.param({"kind": "html"}, id="a proxy's page"),
    pytest.param({"kind": "html", "status": 200}, id="a proxy's page with 200"),
]


@pytest.mark.parametrize("fault", TROUBLE)
def test_reading_and_selecting_survive(
    simulator: ContractDrydock, provisioner: Provisioner, design: DesignSource, fault: dict[str, Any]
) -> None:
    # A task that is over may be known by heart, and is not read any more.
    simulator.script("c1", "prepare", "stuck")
    task_id = provisioner.submit(Phase.PREPARE, design, ["c1"], REFERENCE)
    for method, path in simulator.reading_paths(task_id):
        simulator.fault(method, path, count=2, **fault)
    assert provisioner.select_nodes(design, [Selector(node_tags=("ctl",))]) == {"c1", "c2"}
    assert len(provisioner.nodes()) == 6
    assert provisioner.task(TaskRef(task_id)).reference == REFERENCE
    found = provisioner.find(REFERENCE)
    assert found is not None
    assert found.task_id == task_id
    assert simulator.get("faults") == []


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_kept(simulator: ContractDrydock, provisioner: Provisioner, form: str) -> None:
    # A date has whole seconds only, so that it may ask for up to one second less; and some time has passed since then.
    value = "1" if form == "seconds" else format_datetime(datetime.now(UTC) + timedelta(seconds=3), usegmt=True)
    simulator.fault("GET", simulator.nodes_path, "status", status=429, retry_after=value)
    started = time.monotonic()
    provisioner.nodes()
    assert time.monotonic() - started > 0.9


def test_lasting_trouble_is_told_as_such(simulator: ContractDrydock, provisioner: Provisioner) -> None:
    simulator.fault("GET", simulator.nodes_path, "status", status=503, count=50)
    with pytest.raises(ProvisionerUnavailable) as caught:
        provisioner.nodes()
    assert caught.value.status == 503
    assert len(simulator.get("journal", path=f"{simulator.api}/{simulator.nodes_path}")) == 4


def test_a_refusal_is_told_as_such(simulator: ContractDrydock, provisioner: Provisioner) -> None:
    simulator.fault("GET", simulator.nodes_path, "status", status=400, shape="a")
    with pytest.raises(ProvisionerRefused, match="Injected fault"):
        provisioner.nodes()


@pytest.mark.drydock_alone("MAAS has no tokens")
def test_one_401_costs_a_new_token_and_no_more(
    simulator: ContractDrydock, connect: Connect, design: DesignSource
) -> None:
    class Renewable(StaticToken):
        renewed = 0

        def renew(self, refused: str | None) -> bool:
            self.renewed += 1
            return True

    tokens = Renewable("canary")
    simulator.fault(simulator.submissions_method, simulator.submissions_path, "unauthorized")
    connect(simulator.address, tokens=tokens).submit(Phase.PREPARE, design, ["c1"], REFERENCE)
    assert tokens.renewed == 1
    assert len(simulator.get("tasks")) == 1
    simulator.fault("GET", simulator.nodes_path, "unauthorized", count=2)
    with pytest.raises(AuthenticationFailed):
        connect(simulator.address, tokens=tokens).nodes()
