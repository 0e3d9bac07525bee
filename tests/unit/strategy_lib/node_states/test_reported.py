"""What the words of a provisioner mean for a node, and after a phase (rules 13, 14), in code and in docs/rules.md."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from provisioner_client.ironic.node import ADOPTED, MARK, Mark, read_node
from provisioner_client.maas.machine import STATUS_NAMES, Machine, Status
from provisioner_client.simulator.machines import MachineStatus
from strategy_lib.node_condition import (
    IN_MAINTENANCE,
    IRONIC_WORDS,
    OWNED_BY,
    TO_BE_REBUILT,
    NodeCondition,
    condition_of,
)
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.reported import Reported, lower_of, reported_state
from strategy_lib.outcome import LISTED, Evidence, Lister, Outcome, Says, judge, listed_at_work
from strategy_lib.phase import Phase
from tests.conftest import ROOT

UP, INITIALIZING = NodeAvailability.UP, NodeAvailability.INITIALIZING
STOPPING, DOWN = NodeAvailability.STOPPING, NodeAvailability.DOWN
WORDS = {
    "Deploying": INITIALIZING,
    "Commissioning": INITIALIZING,
    "Testing": INITIALIZING,
    "Allocated": INITIALIZING,
    "Entering rescue mode": INITIALIZING,
    "Exiting rescue mode": INITIALIZING,
    "Releasing": STOPPING,
    "Disk erasing": STOPPING,
}


@pytest.mark.parametrize("status", [status for status in MachineStatus if status is not MachineStatus.DEPLOYED])
def test_every_word_of_the_provisioner(status: MachineStatus) -> None:
    found = reported_state(status.value, "on", UP)
    assert found == Reported(WORDS.get(status.value, DOWN), status.value, operating=status.value in WORDS)


@pytest.mark.parametrize("word", IRONIC_WORDS)
def test_every_word_of_ironic(word: str) -> None:
    found = reported_state(word, "on", DOWN)
    at_work = (NodeCondition.COMMISSIONING, NodeCondition.DEPLOYING, NodeCondition.RELEASING)
    assert found.operating == (IRONIC_WORDS[word] in at_work)
    assert not found.undefined
    expected = {NodeCondition.DEPLOYED: UP, NodeCondition.RELEASING: STOPPING}.get(IRONIC_WORDS[word], DOWN)
    assert found.state is (expected if not found.operating or expected is STOPPING else INITIALIZING)


def test_what_a_person_puts_aside_in_ironic_is_as_up_as_it_was() -> None:
    assert reported_state("active, in maintenance: a new fan", "on", UP) == Reported(UP)
    assert reported_state("active, in maintenance", "off", UP) == Reported(DOWN, "active, in maintenance, power off")
    assert reported_state("active, retired", "on", UP) == Reported(UP)
    assert reported_state("active, to be rebuilt", "on", UP) == Reported(UP)
    assert not reported_state("available, in maintenance: owned by nobody", None, UP).undefined


@pytest.mark.parametrize(
    ("power", "last", "expected"),
    [
        pytest.param("on", None, Reported(UP), id="on"),
        pytest.param("off", UP, Reported(DOWN, "Deployed, power off"), id="off"),
        pytest.param("unknown", UP, Reported(UP, "Deployed, power unknown"), id="unknown: its last state"),
        pytest.param(None, DOWN, Reported(DOWN, "Deployed, power unknown"), id="no power given: its last state"),
        pytest.param("error", None, Reported(DOWN, "Deployed, power unknown"), id="unknown at the first sight: down"),
    ],
)
def test_a_deployed_node_is_as_up_as_its_power(
    power: str | None, last: NodeAvailability | None, expected: Reported
) -> None:
    assert reported_state("Deployed", power, last) == expected


def test_a_word_that_nobody_knows_is_down_and_undefined() -> None:
    assert reported_state("Melting", "on", UP) == Reported(DOWN, "Melting", undefined=True)


def test_words_are_read_in_any_case() -> None:
    assert reported_state(" deployed", "on", None).state is UP


@pytest.mark.parametrize(
    ("provisioner", "node", "expected"),
    [
        pytest.param(Reported(UP), None, Reported(UP), id="the node says nothing"),
        pytest.param(Reported(UP), Reported(UP), Reported(UP), id="both up"),
        pytest.param(Reported(UP), Reported(STOPPING, "reboot"), Reported(STOPPING, "reboot"), id="the node is lower"),
        pytest.param(Reported(UP), Reported(DOWN), Reported(DOWN, "the node says down"), id="lower, without a reason"),
        pytest.param(
            Reported(DOWN, "Ready"), Reported(UP), Reported(DOWN, "Ready"), id="a node cannot raise its state"
        ),
    ],
)
def test_the_lower_of_both_sources(provisioner: Reported, node: Reported | None, expected: Reported) -> None:
    assert lower_of(provisioner, node) == expected


def test_what_somebody_else_has_does_not_serve_us_and_it_is_told_who_that_is() -> None:
    assert reported_state("Deployed, owned by alice", "on", UP) == Reported(DOWN, "Deployed, owned by alice")
    assert reported_state("Deploying, owned by alice", "on", UP) == Reported(DOWN, "Deploying, owned by alice")
    assert reported_state("Melting, owned by bob", "on", UP).undefined
    assert reported_state("Broken, owned by bob", "on", UP) == Reported(DOWN, "Broken, owned by bob")


RULES = ROOT / "docs" / "rules.md"
PHASES = (Phase.PREPARE, Phase.DEPLOY, Phase.DESTROY)
COLUMNS = [(lister, phase) for lister in Lister for phase in PHASES]
TABLES = {"in the list": (Lister.DRYDOCK, Lister.MAAS), "in Ironic's list": (Lister.IRONIC,)}
HALF_RELEASED = "deployed, half released"
ANY_OTHER = "any other"


def documented(title: str) -> dict[str, list[str]]:
    """Read a table of docs/rules.md: what it says of each state, by its word in lower case."""
    rows: dict[str, list[str]] = {}
    lines = iter(RULES.read_text().splitlines())
    next(line for line in lines if line.startswith(f"| {title} |"))
    next(lines)
    for line in lines:
        if not line.startswith("|"):
            break
        words, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        assert len(cells) == len(TABLES[title]) * len(PHASES), line
        for word in words.split("; "):
            assert word.lower() not in rows, f"{word} stands there twice"
            rows[word.lower()] = cells
    return rows


def listed_by_drydock(word: str) -> NodeCondition | None:
    return None if word == HALF_RELEASED else condition_of(word)


def listed_by_maas(word: str) -> NodeCondition:
    if word == HALF_RELEASED:
        return Machine("x", "x", Status.DEPLOYED, "Deployed").condition
    return Machine("x", "x", STATUS_NAMES.get(word), word, osystem="ubuntu").condition


def listed_by_ironic(word: str) -> NodeCondition:
    state, rebuild, _ = word.partition(TO_BE_REBUILT)
    state, put_aside, _ = state.partition(IN_MAINTENANCE)
    # What is deployed is ours.
    mark = {MARK: Mark("r", "destroy_nodes", ok=True, rebuild="0a").data()} if rebuild else {}
    claim = {"instance_uuid": "i", "extra": {ADOPTED: "i", **mark}} if state == "active" else {}
    return read_node({"uuid": "u", "provision_state": state, "maintenance": bool(put_aside), **claim}).condition


READERS: dict[Lister, Callable[[str], NodeCondition | None]] = {
    Lister.DRYDOCK: listed_by_drydock,
    Lister.MAAS: listed_by_maas,
    Lister.IRONIC: listed_by_ironic,
}


def test_rule_13_the_table_in_the_docs_is_the_one_in_the_code() -> None:
    for title, listers in TABLES.items():
        columns = [(lister, phase) for lister in listers for phase in PHASES]
        for word, cells in documented(title).items():
            for (lister, phase), cell in zip(columns, cells, strict=True):
                condition = READERS[lister](word)
                said = "–" if condition is None else str(LISTED[lister][phase][condition])
                assert cell == said, f"{word}, {phase} by {lister}"


def test_rule_13_the_table_has_every_state_of_a_list() -> None:
    words = {status.value.lower() for status in MachineStatus}
    assert set(documented("in the list")) == words | {HALF_RELEASED, ANY_OTHER}
    put_aside = f"available{IN_MAINTENANCE}"
    assert set(documented("in Ironic's list")) == {*IRONIC_WORDS, put_aside, f"active{TO_BE_REBUILT}", ANY_OTHER}
    assert set(STATUS_NAMES) == words
    assert set(STATUS_NAMES.values()) == set(Status)
    listed = set(NodeCondition) - {NodeCondition.NOT_LISTED, NodeCondition.LISTED_TWICE}
    assert {condition_of(word) for word in words} == listed - {NodeCondition.OTHER, NodeCondition.TO_REDEPLOY}
    for lister, phase in COLUMNS:
        assert set(LISTED[lister][phase]) == listed
        assert LISTED[lister][phase][NodeCondition.OTHER] is not Says.PROVES


def judged(lister: Lister, phase: Phase, condition: NodeCondition, *, by: str = "reported_success") -> Outcome:
    said = {by: frozenset({"n1"})} if by else {}
    seen = Evidence(over=True, condition={"n1": condition}, listed=True, lister=lister, **said)  # type: ignore[arg-type]
    return judge(phase, ["n1"], seen)


@pytest.mark.parametrize("by", ["reported_success", "child_success"])
@pytest.mark.parametrize(("lister", "phase"), COLUMNS)
def test_rule_13_what_is_reported_is_believed_where_the_list_proves_it(lister: Lister, phase: Phase, by: str) -> None:
    for condition, says in LISTED[lister][phase].items():
        outcome = judged(lister, phase, condition, by=by)
        assert (outcome.succeeded == {"n1"}) is (says is Says.PROVES), condition
        assert (outcome.failed == {"n1"}) is (says is Says.REFUTES), condition
        assert (outcome.unknown == {"n1"}) is (says is Says.WAIT), condition
        assert outcome.awaited == outcome.unknown
        if says is not Says.PROVES:
            assert f"but the node list says {condition}" in outcome.notes["n1"]


@pytest.mark.parametrize(
    ("phase", "condition"),
    [
        (Phase.DEPLOY, NodeCondition.DEPLOYING),
        (Phase.PREPARE, NodeCondition.COMMISSIONING),
        (Phase.PREPARE, NodeCondition.TESTING),
        (Phase.RELEASE, NodeCondition.RELEASING),
    ],
)
@pytest.mark.parametrize("by", ["reported_success", "child_success", ""])
def test_rule_13_what_the_list_shows_at_work_is_waited_for(phase: Phase, condition: NodeCondition, by: str) -> None:
    outcome = judged(Lister.DRYDOCK, phase, condition, by=by)
    assert outcome.unknown == outcome.awaited == {"n1"}


def test_rule_13_a_reported_failure_is_not_waited_for() -> None:
    outcome = judged(Lister.DRYDOCK, Phase.DEPLOY, NodeCondition.DEPLOYING, by="reported_failure")
    assert outcome.failed == {"n1"}
    assert not outcome.awaited


@pytest.mark.parametrize("by", ["reported_success", "child_success", ""])
@pytest.mark.parametrize("phase", [Phase.PREPARE, Phase.DEPLOY, Phase.DESTROY, Phase.RELEASE])
def test_rule_13_what_the_list_shows_as_somebody_else_s_is_not_waited_for(phase: Phase, by: str) -> None:
    words = f"Deploying{OWNED_BY}carol"
    said = {by: frozenset({"n1"})} if by else {}
    seen = Evidence(
        over=True,
        condition={"n1": NodeCondition.OTHER},
        status_names={"n1": words},
        listed=True,
        lister=Lister.MAAS,
        **said,  # type: ignore[arg-type]
    )
    outcome = judge(phase, ["n1"], seen)
    assert not outcome.awaited
    assert not listed_at_work(phase, ["n1"], seen)
    assert (outcome.failed == {"n1"}, outcome.unknown == {"n1"}) == (bool(by), not by)
    assert f"the node list says {words}" in outcome.notes["n1"]
