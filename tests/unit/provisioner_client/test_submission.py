"""Rule 12: one task, whatever is lost on the way."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerError,
    ProvisionerProtocolError,
    ProvisionerRefused,
    ProvisionerUnavailable,
    SubmissionRefused,
    SubmissionUncertain,
)
from provisioner_client.protocol import ProvisionerTask, TaskState
from provisioner_client.submission import Sighting, Submission, SubmissionPolicy

TASK = ProvisionerTask("t-1", "prepare_nodes", TaskState.QUEUED, "incomplete", frozenset(), frozenset(), (), "ref")
LOST = ProvisionerUnavailable("the connection was lost")
TIMED_OUT = ProvisionerUnavailable("no answer in time", timed_out=True)
NOT_REACHED = ProvisionerUnavailable("no connection", reached=False)
SEEN = Sighting(TASK, 5)
NOT_SEEN = Sighting(None, 5)
EMPTY = Sighting(None, 0)
BLIND = ProvisionerUnavailable("busy")

Step = Sighting | ProvisionerTask | ProvisionerError


class Play:
    """Answers for each look and each send, in order; the last look repeats."""

    def __init__(self, looks: list[Step], sends: list[Step]) -> None:
        self.looks, self.sends = looks, sends
        self.waits: list[float] = []
        self.sent = 0
        self.pauses: list[int] = []

    def look(self) -> Sighting:
        step = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(step, ProvisionerError):
            raise step
        assert isinstance(step, Sighting)
        return step

    def send(self) -> ProvisionerTask:
        self.sent += 1
        step = self.sends.pop(0)
        if isinstance(step, ProvisionerError):
            raise step
        assert isinstance(step, ProvisionerTask)
        return step

    def run(self, policy: SubmissionPolicy | None = None, guard: Callable[[], None] = lambda: None) -> ProvisionerTask:
        policy = policy or SubmissionPolicy(attempts=3, looks=3, look_delay=1, settle=60)
        pause: Callable[[int, ProvisionerError], None] = lambda attempt, _: self.pauses.append(attempt)  # noqa: E731
        return Submission("ref", self.send, self.look, pause, self.waits.append, policy, guard).run()


@pytest.mark.parametrize(
    ("looks", "sends", "sent", "waits"),
    [
        pytest.param([NOT_SEEN], [TASK], 1, [], id="nothing goes wrong"),
        pytest.param([SEEN], [], 0, [], id="a dead process had sent it"),
        pytest.param([EMPTY, SEEN], [], 0, [1], id="an empty list is not believed at once"),
        pytest.param([EMPTY], [TASK], 1, [1], id="a provisioner without any task"),
        pytest.param([NOT_SEEN, SEEN], [LOST], 1, [1], id="answer lost, task taken"),
        pytest.param([NOT_SEEN, NOT_SEEN, NOT_SEEN, SEEN], [LOST], 1, [1, 2, 3], id="task taken, seen late"),
        pytest.param([NOT_SEEN], [LOST, TASK], 2, [1, 2, 3], id="answer lost, task not taken"),
        pytest.param([NOT_SEEN], [NOT_REACHED, TASK], 2, [], id="not reached, no need to look"),
        pytest.param([NOT_SEEN, BLIND, NOT_SEEN], [LOST, TASK], 2, [1, 2, 3], id="blind for a moment"),
        pytest.param([NOT_SEEN, BLIND, SEEN], [LOST], 1, [1, 2], id="blind, then seen"),
        pytest.param([NOT_SEEN, SEEN], [ProvisionerProtocolError("half an answer")], 1, [1], id="answer unreadable"),
        pytest.param([NOT_SEEN, NOT_SEEN, NOT_SEEN, NOT_SEEN, SEEN], [TIMED_OUT], 1, [1, 2, 3, 54], id="slow"),
        pytest.param([EMPTY], [LOST, TASK], 2, [1, 1, 2, 3], id="still empty"),
    ],
)
def test_rule_12_there_is_one_task(looks: list[Step], sends: list[Step], sent: int, waits: list[float]) -> None:
    play = Play(looks, sends)
    assert play.run() is TASK
    assert (play.sent, play.waits, play.sends) == (sent, waits, [])


@pytest.mark.parametrize(
    "looks",
    [
        pytest.param([NOT_SEEN, BLIND], id="the list cannot be read"),
        pytest.param([NOT_SEEN, NOT_SEEN, NOT_SEEN, BLIND], id="the last look was blind"),
        pytest.param([NOT_SEEN, EMPTY], id="a list that was not empty became so"),
    ],
)
def test_rule_12_in_doubt_it_is_not_sent_again(looks: list[Step]) -> None:
    play = Play(looks, [LOST, TASK])
    with pytest.raises(SubmissionUncertain, match="the connection was lost"):
        play.run()
    assert play.sent == 1


def test_nothing_is_sent_when_the_first_look_is_blind() -> None:
    play = Play([BLIND], [TASK])
    with pytest.raises(ProvisionerUnavailable):
        play.run()
    assert play.sent == 0


def test_it_is_given_up_after_the_last_attempt() -> None:
    play = Play([NOT_SEEN], [LOST, NOT_REACHED, LOST])
    with pytest.raises(ProvisionerUnavailable) as caught:
        play.run()
    assert not isinstance(caught.value, SubmissionUncertain)
    assert (play.sent, play.pauses) == (3, [1, 2])


REFUSED = ProvisionerRefused("404 Not Found", status=404)
ANSWERED = ProvisionerRefused("unsupported action", status=400, answered=True)


@pytest.mark.parametrize(
    ("looks", "sends"),
    [
        pytest.param([REFUSED], [], id="before anything is sent: an earlier process may have"),
        pytest.param([NOT_SEEN, REFUSED], [LOST], id="after a lost answer"),
        pytest.param([NOT_SEEN], [LOST, ANSWERED], id="a second sending, refused by the provisioner itself"),
        pytest.param([NOT_SEEN], [LOST, REFUSED], id="a second sending, refused by a stranger"),
        pytest.param([NOT_SEEN], [REFUSED], id="the first sending, refused by a stranger"),
    ],
)
def test_rule_12_a_refusal_that_may_not_be_about_the_task_is_uncertain(looks: list[Step], sends: list[Step]) -> None:
    with pytest.raises(SubmissionUncertain):
        Play(looks, sends).run()


def test_rule_12_a_second_sending_that_is_refused_because_the_first_was_taken() -> None:
    play = Play([NOT_SEEN, NOT_SEEN, NOT_SEEN, NOT_SEEN, SEEN], [LOST, ANSWERED])
    assert play.run() is TASK


def test_rule_12_a_stranger_refuses_what_the_provisioner_has_taken() -> None:
    play = Play([NOT_SEEN, SEEN], [REFUSED])
    assert play.run() is TASK


def test_rule_12_not_reached_leaves_a_refusal_certain() -> None:
    with pytest.raises(SubmissionRefused):
        Play([NOT_SEEN], [NOT_REACHED, ANSWERED]).run()


@pytest.mark.parametrize(
    ("looks", "sends"),
    [([AuthenticationFailed("no", status=403)], []), ([NOT_SEEN], [LOST, AuthenticationFailed("no", status=401)])],
    ids=["the look", "a later sending"],
)
def test_credentials_that_are_not_accepted_are_said_as_such(looks: list[Step], sends: list[Step]) -> None:
    with pytest.raises(AuthenticationFailed):
        Play(looks, sends).run()


@pytest.mark.parametrize("sends", [[], [NOT_REACHED]], ids=["the first", "the second"])
def test_rule_12_the_guard_is_asked_before_every_sending(sends: list[Step]) -> None:
    play = Play([NOT_SEEN], list(sends))
    asked: list[int] = []

    def guard() -> None:
        asked.append(play.sent)
        if len(asked) > len(sends):
            raise PermissionError("not any more")

    with pytest.raises(PermissionError):
        play.run(guard=guard)
    assert play.sent == len(sends)


def test_a_refusal_ends_it() -> None:
    play = Play([NOT_SEEN], [ANSWERED])
    with pytest.raises(SubmissionRefused, match="unsupported action"):
        play.run()
    assert play.sent == 1


@pytest.mark.parametrize("options", [{"attempts": 0}, {"looks": 0}])
def test_a_policy_that_never_looks_is_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        SubmissionPolicy(**options)
