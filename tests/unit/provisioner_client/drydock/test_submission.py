"""Rule 12: one task, whatever is lost on the way."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from provisioner_client.drydock.submission import Sighting, Submission, SubmissionPolicy
from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerError,
    ProvisionerProtocolError,
    ProvisionerRefused,
    ProvisionerUnavailable,
    SubmissionRefused,
    SubmissionUncertain,
)
from provisioner_client.protocol import LONG_AGO, ProvisionerTask, TaskResult, TaskState

TASK = ProvisionerTask(
    "t-1", "prepare_nodes", TaskState.QUEUED, TaskResult.INCOMPLETE, frozenset(), frozenset(), (), "ref"
)
LOST = ProvisionerUnavailable("the connection was lost")
TIMED_OUT = ProvisionerUnavailable("no answer in time", timed_out=True)
NOT_REACHED = ProvisionerUnavailable("no connection", reached=False)
SEEN = Sighting(TASK, 5)
NOT_SEEN = Sighting(None, 5)
EMPTY = Sighting(None, 0)
BLIND = ProvisionerUnavailable("busy")
BUSY = ProvisionerUnavailable("503", status=503)
CUT_OFF = ProvisionerProtocolError("half an answer")
# For as long as a request may still take effect.
SETTLED = [1, 2, 4, 8, 16, 29]

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

    def run(self, guard: Callable[[], None] = lambda: None, sent_ago: float | None = LONG_AGO) -> ProvisionerTask:
        policy = SubmissionPolicy(attempts=3, look_delay=1, settle=60)
        pause: Callable[[int, ProvisionerError], None] = lambda attempt, _: self.pauses.append(attempt)  # noqa: E731
        wait = self.waits.append
        return Submission("ref", self.send, self.look, pause, wait, policy, guard, sent_ago=sent_ago).run()


@pytest.mark.parametrize(
    ("looks", "sends", "sent", "waits"),
    [
        pytest.param([NOT_SEEN], [TASK], 1, [], id="nothing goes wrong"),
        pytest.param([SEEN], [], 0, [], id="a dead process had sent it"),
        pytest.param([EMPTY, SEEN], [], 0, [1], id="an empty list is not believed at once"),
        pytest.param([EMPTY], [TASK], 1, [1], id="a provisioner without any task"),
        pytest.param([NOT_SEEN, SEEN], [LOST], 1, [1], id="answer lost, task taken"),
        pytest.param([*[NOT_SEEN] * 3, SEEN], [LOST], 1, [1, 2, 4], id="task taken, seen late"),
        pytest.param([*[NOT_SEEN] * 6, SEEN], [LOST], 1, SETTLED, id="connection lost, seen at the last look"),
        pytest.param([*[NOT_SEEN] * 6, SEEN], [BUSY], 1, SETTLED, id="answered 503, seen at the last look"),
        pytest.param([*[NOT_SEEN] * 6, SEEN], [CUT_OFF], 1, SETTLED, id="answer unreadable, seen at the last look"),
        pytest.param([*[NOT_SEEN] * 6, SEEN], [TIMED_OUT], 1, SETTLED, id="no answer, seen at the last look"),
        pytest.param([NOT_SEEN], [LOST, TASK], 2, SETTLED, id="answer lost, task not taken"),
        pytest.param([NOT_SEEN], [NOT_REACHED, TASK], 2, [], id="not reached, no need to look"),
        pytest.param([NOT_SEEN, BLIND, NOT_SEEN], [LOST, TASK], 2, SETTLED, id="blind for a moment"),
        pytest.param([NOT_SEEN, BLIND, SEEN], [LOST], 1, [1, 2], id="blind, then seen"),
    ],
)
def test_rule_12_there_is_one_task(looks: list[Step], sends: list[Step], sent: int, waits: list[float]) -> None:
    play = Play(looks, sends)
    assert play.run() is TASK
    assert (play.sent, play.waits, play.sends) == (sent, waits, [])


@pytest.mark.parametrize(
    ("sent_ago", "looks", "sends", "waits"),
    [
        pytest.param(None, [BLIND], [TASK], [], id="never sent: not looked for"),
        pytest.param(None, [SEEN], [LOST], [1], id="never sent, answer lost, task taken"),
        pytest.param(60, [EMPTY], [TASK], [1], id="sent long ago, no task at all: a new provisioner"),
        pytest.param(50, [NOT_SEEN, NOT_SEEN, SEEN], [], [1, 2], id="sent a while ago, takes effect late"),
        pytest.param(50, [NOT_SEEN], [TASK], [1, 2, 4, 3], id="sent a while ago, not taken"),
        pytest.param(0, [NOT_SEEN], [TASK], SETTLED, id="sent just now, not taken"),
        pytest.param(60, [NOT_SEEN], [TASK], [], id="sent so long ago that it would be seen"),
    ],
)
def test_rule_12_what_an_earlier_process_sent_is_looked_for_while_it_may_take_effect(
    sent_ago: float | None, looks: list[Step], sends: list[Step], waits: list[float]
) -> None:
    play = Play(looks, sends)
    assert play.run(sent_ago=sent_ago) is TASK
    assert (play.waits, play.sends) == (waits, [])


def test_rule_12_what_an_earlier_process_sent_is_left_open_while_the_list_does_not_tell() -> None:
    play = Play([NOT_SEEN, BLIND], [TASK])
    with pytest.raises(SubmissionUncertain, match="an earlier process began to send it"):
        play.run(sent_ago=5)
    assert play.sent == 0


@pytest.mark.parametrize(
    "looks",
    [
        pytest.param([NOT_SEEN, BLIND], id="the list cannot be read"),
        pytest.param([*[NOT_SEEN] * 6, BLIND], id="the last look was blind"),
        pytest.param([NOT_SEEN, EMPTY], id="a list that was not empty became so"),
        pytest.param([EMPTY], id="a list that is empty: its database may be away"),
    ],
)
def test_rule_12_in_doubt_it_is_not_sent_again(looks: list[Step]) -> None:
    play = Play(looks, [LOST, TASK])
    with pytest.raises(SubmissionUncertain, match="the connection was lost"):
        play.run()
    assert play.sent == 1


def test_rule_12_an_empty_list_proves_nothing_where_no_look_came_before() -> None:
    play = Play([EMPTY], [LOST, TASK])
    with pytest.raises(SubmissionUncertain, match="the list of tasks does not tell"):
        play.run(sent_ago=None)
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
    play = Play([*[NOT_SEEN] * 7, SEEN], [LOST, ANSWERED])
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


@pytest.mark.parametrize(
    ("options", "match"),
    [({"attempts": 0}, "at least 1"), ({"look_delay": 0}, "above 0"), ({"settle": 0}, "above 0")],
    ids=["attempts", "look_delay", "settle"],
)
def test_a_policy_that_never_sends_or_looks_is_refused(options: dict[str, int], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        SubmissionPolicy(**options)
