"""Whether an action may be made: what speaks against it, as values."""

from __future__ import annotations

import pytest

from design_rendering.design import Design, read_design
from design_rendering.reading.documents import load_documents
from site_engine.admission import (
    Ground,
    Refusal,
    judge_critical_groups,
    judge_design,
    judge_parameters,
    judge_revision,
    passed_over,
    requested_kind,
    skipped_commits,
)
from site_engine.kinds import Override, kind_of
from site_engine.parameters import ActionParameters
from site_store import Version
from strategy_lib.node_condition import NodeCondition
from strategy_lib.node_states.generated import NodeAvailability
from strategy_lib.node_states.user_state import UserState
from tests.support.sites import group, node, site

SITE, UPDATE, DESTROY = kind_of("deploy_site"), kind_of("update_site"), kind_of("destroy_nodes")
ALLOW = (
    "If that is meant, repeat this with allow-intermediate-commits=true "
    "(on the command line --allow-intermediate-commits), or use update_site"
)
NOTHING = ActionParameters()


@pytest.fixture(scope="module")
def design() -> Design:
    groups = [group("control", ["n1", "n2"], minimum_successful_nodes=2), group("compute", ["n3"], critical=False)]
    return read_design(load_documents(site([node("n1"), node("n2"), node("n3")], groups), "design.yaml"))


def versions(committed: int | None, last: int | None = None) -> dict[Version, int | None]:
    return {Version.COMMITTED: committed, Version.LAST_SITE_ACTION: last}


def grounds(refusals: list[Refusal]) -> list[Ground]:
    return [refusal.ground for refusal in refusals]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (None, "the body needs a name: the kind of action, one of deploy_site, update_site, "),
        ("deploy_sites", "there is no kind of action 'deploy_sites'; did you mean 'deploy_site'?"),
        ("?", "there is no kind of action '?'; supported are deploy_site, update_site, "),
    ],
)
def test_a_kind_that_does_not_exist(name: object, said: str) -> None:
    found = requested_kind(name)
    assert isinstance(found, Refusal)
    assert (found.ground, found.text.startswith(said)) == (Ground.KIND if name else Ground.NO_KIND, True)


def test_a_kind_that_exists() -> None:
    assert requested_kind("destroy_nodes") == DESTROY


@pytest.mark.parametrize(
    ("asked", "committed", "last", "revision", "found"),
    [
        pytest.param(NOTHING, 3, 2, 3, [], id="the newest by default"),
        pytest.param(ActionParameters(revision=1), 3, 3, 1, [], id="an earlier one, by its number"),
        pytest.param(NOTHING, None, None, 0, [Ground.REVISION], id="nothing is committed"),
        pytest.param(ActionParameters(revision=4), 3, 3, 0, [Ground.REVISION], id="there is no such revision"),
        pytest.param(NOTHING, 3, 1, 3, [Ground.INTERMEDIATE_COMMITS], id="revision 2 would be passed over"),
        pytest.param(ActionParameters(allow_intermediate=True), 3, 1, 3, [], id="that is allowed"),
        pytest.param(ActionParameters(target_nodes=("n1",)), 3, 1, 3, [], id="named nodes pass nothing over"),
    ],
)
def test_the_revision_to_bring_about(
    asked: ActionParameters, committed: int | None, last: int | None, revision: int, found: list[Ground]
) -> None:
    number, refusals = judge_revision(SITE, asked, "lab7", versions(committed, last))
    assert (number, grounds(refusals)) == (revision, found)


@pytest.mark.parametrize(
    ("last", "revision", "skipped"),
    [(None, 1, []), (None, 3, [1, 2]), (1, 2, []), (1, 4, [2, 3]), (4, 4, []), (4, 2, [])],
)
def test_what_is_passed_over(last: int | None, revision: int, skipped: list[int]) -> None:
    assert list(skipped_commits(last, revision)) == skipped


@pytest.mark.parametrize(
    ("last", "revision", "why"),
    [
        (
            None,
            2,
            "there was no action on all of site lab7 yet, so revision 1 was never deployed, "
            "and revision 2 would pass it over.",
        ),
        (
            1,
            4,
            "the last action on all of site lab7 was for revision 1; revisions 2, 3 were committed since then and "
            "never deployed, and revision 4 would pass them over.",
        ),
    ],
)
def test_the_refusal_says_what_happened_and_how_to_go_on(last: int | None, revision: int, why: str) -> None:
    (refusal,) = judge_revision(SITE, NOTHING, "lab7", versions(revision, last))[1]
    assert refusal.text == f"{why} {ALLOW}"


@pytest.mark.parametrize("last", [None, 1])
def test_rule_37_an_update_does_the_last_of_several_commits_and_names_the_others(last: int | None) -> None:
    found = versions(4, last)
    assert judge_revision(UPDATE, NOTHING, "lab7", found) == (4, [])
    said = passed_over(UPDATE, NOTHING, "lab7", found, 4)
    skipped = "revisions 1, 2, 3" if last is None else "revisions 2, 3"
    assert said is not None
    assert said.startswith(f"revision 4 passes over {skipped} of site lab7, committed since the last action on ")


@pytest.mark.parametrize(
    ("asked", "last", "says"),
    [
        pytest.param(ActionParameters(allow_intermediate=True), 1, True, id="a deployment that may"),
        pytest.param(NOTHING, 2, False, id="nothing lies between"),
        pytest.param(ActionParameters(target_nodes=("n1",)), 1, False, id="named nodes pass nothing over"),
    ],
)
def test_what_an_action_passes_over_is_said(asked: ActionParameters, last: int, says: bool) -> None:
    said = passed_over(SITE, asked, "lab7", versions(3, last), 3)
    assert (said is not None) is says


def test_of_many_revisions_the_first_and_the_last_are_named() -> None:
    (refusal,) = judge_revision(SITE, NOTHING, "lab7", versions(100))[1]
    assert "so revisions 1 to 99 were never deployed" in refusal.text


def test_a_kind_on_named_nodes_needs_them() -> None:
    (refusal,) = judge_parameters(DESTROY, NOTHING)
    assert refusal.text == "destroy_nodes needs the parameter target_nodes: name the nodes"
    assert grounds(judge_parameters(SITE, ActionParameters(target_nodes=()))) == [Ground.TARGETS]
    assert judge_parameters(SITE, NOTHING) == []


def test_all_that_is_wrong_with_the_design_is_told_at_once(design: Design) -> None:
    asked = ActionParameters(target_nodes=("n1", "n22", "nowhere"), force=True)
    secrets, targets = judge_design(asked, "lab7", 3, design, ["groups: the name is a secret"])
    assert (secrets.ground, secrets.details) == (Ground.SECRETS, ("groups: the name is a secret",))
    assert not secrets.is_overridden, "force does not help"
    assert targets.text == "target_nodes names 2 nodes that revision 3 of site lab7 does not have"
    assert targets.details == ("there is no node 'n22'; did you mean 'n2'?", "there is no node 'nowhere'")
    assert str(targets) == "there is no node 'n22'; did you mean 'n2'? there is no node 'nowhere'; " + targets.text


def test_target_nodes_cannot_be_checked_without_a_design() -> None:
    assert grounds(judge_design(ActionParameters(target_nodes=("n1",)), "lab7", 3, None, ())) == [Ground.TARGETS]
    assert judge_design(NOTHING, "lab7", 3, None, ()) == []


def test_of_many_nodes_the_first_are_named(design: Design) -> None:
    asked = ActionParameters(target_nodes=tuple(f"x{number}" for number in range(500)))
    (refusal,) = judge_design(asked, "lab7", 3, design, ())
    assert (len(refusal.details), "names 500 nodes" in refusal.text) == (200, True)
    assert "; and 195 more; " in str(refusal)


@pytest.mark.parametrize(
    ("asked", "overridden"),
    [
        (ActionParameters(target_nodes=("n2",)), False),
        (ActionParameters(target_nodes=("n2",), overrides=frozenset({Override.IGNORE_OLDER_TASKS})), False),
        (ActionParameters(target_nodes=("n2",), overrides=frozenset({Override.BELOW_CRITERIA})), True),
        (ActionParameters(target_nodes=("n2",), force=True), True),
    ],
)
def test_rule_25_critical_groups_keep_what_they_need(design: Design, asked: ActionParameters, overridden: bool) -> None:
    deployed = dict.fromkeys(("n1", "n2", "n3"), NodeCondition.DEPLOYED)
    (refusal,) = judge_critical_groups(DESTROY, asked, design, deployed, {})
    assert (refusal.ground, refusal.is_overridden) == (Ground.CRITICAL_GROUPS, overridden)
    assert refusal.details == ("critical group control would fall short: minimum_successful_nodes needs 2, 1 would be",)
    allowed = ". This action allows that (below_criteria)"
    advice = ": name fewer nodes, or repeat this with below_criteria=true (--below-criteria)"
    rest = refusal.text.removeprefix("destroy_nodes would take critical groups below their criteria")
    assert rest == (allowed if overridden else advice)


def test_rule_25_only_what_destroys_is_judged(design: Design) -> None:
    asked = ActionParameters(target_nodes=("n2",))
    deployed = dict.fromkeys(("n1", "n2", "n3"), NodeCondition.DEPLOYED)
    assert judge_critical_groups(kind_of("relabel_nodes"), asked, design, deployed, {}) == []
    assert judge_critical_groups(DESTROY, asked, design, {"n1": NodeCondition.DEPLOYED}, {}) == [], "n2 is not deployed"


@pytest.mark.parametrize(
    ("state", "left"),
    [
        (NodeAvailability.UP, None),
        (NodeAvailability.RETIRED, None),
        (NodeAvailability.MAINTENANCE, 1),
        (NodeAvailability.DOWN, 1),
    ],
)
def test_rule_25_a_deployed_node_that_is_out_of_use_serves_nobody(state: NodeAvailability, left: int | None) -> None:
    asked, names = ActionParameters(target_nodes=("n3",)), ["n1", "n2", "n3"]
    text = site([node(name) for name in names], [group("control", names, minimum_successful_nodes=2)])
    design = read_design(load_documents(text, "design.yaml"))
    deployed = dict.fromkeys(names, NodeCondition.DEPLOYED)
    found = judge_critical_groups(DESTROY, asked, design, deployed, {"n1": UserState(state, "new disk")})
    needs = "critical group control would fall short: minimum_successful_nodes needs 2, {} would be"
    assert [refusal.details for refusal in found] == ([] if left is None else [(needs.format(left),)])
