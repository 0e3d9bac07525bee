"""Rule 12: one task, whatever is lost on the way; what is sent for selectors and names, as Drydock reads filters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner_client.drydock.submission import Sighting, Submission, SubmissionPolicy, names_filter, selectors_filter
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
from strategy_lib.strategy import Label, Selector


@dataclass(frozen=True)
class Server:
    """A node of a design, with what Drydock compares."""

    name: str
    tags: frozenset[str] = frozenset()
    labels: dict[str, str] = field(default_factory=dict)
    rack: str | None = None


def drydock_selects(node_filter: dict[str, Any] | None, servers: list[Server]) -> set[str]:
    """Read a filter as Drydock's code does: labels are OR too, and a filter without criteria is an error."""
    if node_filter is None:
        return {server.name for server in servers}
    assert node_filter["filter_set"], "an empty filter set is a 500"
    assert node_filter["filter_set_type"] == "union"
    chosen: set[str] = set()
    for one in node_filter["filter_set"]:
        assert one["filter_type"] == "intersection"
        tests: dict[str, Callable[[Server, Any], bool]] = {
            "node_names": lambda server, wanted: server.name in wanted,
            "node_tags": lambda server, wanted: bool(server.tags & set(wanted)),
            "rack_names": lambda server, wanted: server.rack in wanted,
            "node_labels": lambda server, wanted: bool(server.labels.items() & wanted.items()),
        }
        criteria = [
            {server.name for server in servers if test(server, one[key])} for key, test in tests.items() if one.get(key)
        ]
        assert criteria, "a filter without criteria is a 500"
        chosen |= set.intersection(*criteria)
    return chosen


def rules_select(selectors: list[Selector], servers: list[Server]) -> set[str]:
    """Read rules 5 and 6 word by word."""

    def matches(selector: Selector, server: Server) -> bool:
        return (
            (not selector.node_names or server.name in selector.node_names)
            and (not selector.node_tags or any(tag in server.tags for tag in selector.node_tags))
            and (not selector.rack_names or server.rack in selector.rack_names)
            and (
                not selector.node_labels
                or any(server.labels.get(label.key) == label.value for label in selector.node_labels)
            )
        )

    return {
        server.name for server in servers if not selectors or any(matches(selector, server) for selector in selectors)
    }


def test_rule_05_two_values_of_one_label_key_and_a_tag_become_two_filters() -> None:
    selector = Selector(node_tags=("t",), node_labels=(Label("k", "a"), Label("k", "b")))
    assert selectors_filter([selector]) == {
        "filter_set_type": "union",
        "filter_set": [
            {"filter_type": "intersection", "node_tags": ["t"], "node_labels": {"k": "a"}},
            {"filter_type": "intersection", "node_tags": ["t"], "node_labels": {"k": "b"}},
        ],
    }


@pytest.mark.parametrize(
    "selectors",
    [
        pytest.param([], id="no selectors"),
        pytest.param([Selector()], id="an empty selector"),
        pytest.param([Selector(node_names=("n1",)), Selector()], id="all beside another"),
    ],
)
def test_trap_7_all_nodes_is_no_filter(selectors: list[Selector]) -> None:
    assert selectors_filter(selectors) is None


def test_labels_of_different_keys_share_a_filter() -> None:
    node_filter = selectors_filter([Selector(node_labels=(Label("a", "1"), Label("b", "2"), Label("a", "3")))])
    assert node_filter is not None
    assert [one["node_labels"] for one in node_filter["filter_set"]] == [{"a": "1", "b": "2"}, {"a": "3"}]


def test_trap_10_a_names_filter_carries_the_reference() -> None:
    assert names_filter(["n1", "n2"], "slipway-a-1") == {
        "filter_set_type": "union",
        "filter_set": [{"filter_type": "union", "node_names": ["n1", "n2"]}],
        "x_client_ref": "slipway-a-1",
    }


def test_trap_5_a_filter_without_names_is_never_made() -> None:
    with pytest.raises(ValueError, match="without names"):
        names_filter([], "slipway-a-1")


_names, _tags, _racks = (st.sampled_from([f"{letter}{number}" for number in range(4)]) for letter in "ntr")
_labels = st.builds(Label, st.sampled_from(["k", "l"]), st.sampled_from(["a", "b", "c"]))
_selectors = st.builds(
    Selector,
    node_names=st.lists(_names, max_size=2).map(tuple),
    node_tags=st.lists(_tags, max_size=2).map(tuple),
    node_labels=st.lists(_labels, max_size=4).map(tuple),
    rack_names=st.lists(_racks, max_size=2).map(tuple),
)
_servers = st.lists(
    st.builds(
        Server,
        name=_names,
        tags=st.frozensets(_tags, max_size=3),
        labels=st.dictionaries(st.sampled_from(["k", "l"]), st.sampled_from(["a", "b", "c"])),
        rack=st.none() | _racks,
    ),
    unique_by=lambda server: server.name,
)


@given(selectors=st.lists(_selectors, max_size=3), servers=_servers)
def test_rules_5_and_6_drydock_reads_the_filter_as_the_rules_mean_it(
    selectors: list[Selector], servers: list[Server]
) -> None:
    assert drydock_selects(selectors_filter(selectors), servers) == rules_select(selectors, servers)


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
