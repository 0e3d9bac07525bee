"""What is told of a task that is done node by node, whatever the backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from provisioner_client.errors import ProvisionerProtocolError
from provisioner_client.piecewise.told import PiecewiseTask, Verdicts
from provisioner_client.protocol import ACTIONS, TaskMessage, TaskRef, TaskState
from strategy_lib.phase import Phase

REFERENCE = "slipway-a-1"


class Told(PiecewiseTask):
    """A task of given ends, of which some nodes were begun; each has one message."""

    def __init__(self, phase: Phase, found: Verdicts, begun: Sequence[str] = ()) -> None:
        super().__init__(REFERENCE, ACTIONS[phase])
        self._found, self._begun = found, begun

    def verdicts(self) -> Verdicts:
        return self._found

    def is_begun(self, node: str | None = None) -> bool:
        return bool(self._begun) if node is None else node in self._begun

    def noted(self, node: str) -> Sequence[TaskMessage]:
        return [TaskMessage(f"{node} was seen", error=False, context=node, at="2026-01-01T00:00:00")]


@pytest.mark.parametrize(
    "ref",
    [
        pytest.param(TaskRef("slipway-a-2"), id="another task"),
        pytest.param(TaskRef(REFERENCE, reference="slipway-a-2"), id="another reference"),
        pytest.param(TaskRef(REFERENCE, Phase.PREPARE), id="another phase"),
    ],
)
def test_an_answer_about_something_else_proves_nothing(ref: TaskRef) -> None:
    task = Told(Phase.DEPLOY, {})
    with pytest.raises(ProvisionerProtocolError, match=REFERENCE):
        task.require(ref)
    task.require(TaskRef(REFERENCE, Phase.DEPLOY, REFERENCE))


@pytest.mark.parametrize(
    ("phase", "found", "begun", "state"),
    [
        (Phase.DEPLOY, {"n1": (None, "")}, (), TaskState.QUEUED),
        (Phase.DEPLOY, {"n1": (None, ""), "n2": (True, "")}, ("n1",), TaskState.RUNNING),
        (Phase.DESTROY, {"n1": (None, "")}, (), TaskState.RUNNING),
        (Phase.DEPLOY, {"n1": (False, "its disk"), "n2": (True, "")}, ("n1", "n2"), TaskState.COMPLETE),
    ],
)
def test_only_deploys_wait_for_their_turn_and_lists_are_empty_until_the_end(
    phase: Phase, found: Mapping[str, tuple[bool | None, str]], begun: Sequence[str], state: TaskState
) -> None:
    task = Told(phase, found, begun).task()
    assert task.state is state
    over = state is TaskState.COMPLETE
    assert (task.successes, task.failures) == ((frozenset({"n2"}), frozenset({"n1"})) if over else (frozenset(),) * 2)


def test_the_tree_says_why_a_node_failed_and_what_another_waits_for() -> None:
    tree = Told(Phase.DEPLOY, {"n1": (False, "its disk"), "n2": (None, "")}, ("n1",)).tree(None, {"n2": "its turn"})
    said = {child.task.task_id: [message.text for message in child.task.messages] for child in tree.children}
    assert said == {f"{REFERENCE}/n1": ["n1 was seen", "its disk"], f"{REFERENCE}/n2": ["n2 was seen", "its turn"]}
    assert [child.task.state for child in tree.children] == [TaskState.COMPLETE, TaskState.QUEUED]
    assert tree.children[0].created == "2026-01-01T00:00:00"
