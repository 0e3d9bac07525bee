"""Parameters of an action, as clients write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from site_engine.kinds import BY_NAME_ALONE, Override, kind_of
from site_engine.parameters import ActionParameters, ParameterError, parse_parameters, read_checked

SITE, SERVER = kind_of("deploy_site"), kind_of("redeploy_server")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, ActionParameters()),
        ({}, ActionParameters()),
        ({"target_nodes": "n1, n2,,n1"}, ActionParameters(target_nodes=("n1", "n2"))),
        ({"target_nodes": ["n1", " n2 "]}, ActionParameters(target_nodes=("n1", "n2"))),
        ({"force": "True", "dry_run": True}, ActionParameters(force=True, dry_run=True)),
        ({"force": "false", "dry_run": None}, ActionParameters()),
        ({"redo_done": "true"}, ActionParameters(overrides=frozenset({Override.REDO_DONE}))),
        ({"revision": "12"}, ActionParameters(revision=12)),
        ({"revision": 12}, ActionParameters(revision=12)),
        ({"continue-on-fail": "TRUE"}, ActionParameters(continue_on_fail=True)),
        ({"max_parallel_groups": 16}, ActionParameters(max_parallel_groups=16)),
        ({"max_parallel_groups": "1"}, ActionParameters(max_parallel_groups=1)),
    ],
)
def test_values_are_read(given: object, expected: ActionParameters) -> None:
    assert parse_parameters(given, SITE) == expected


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "parameters must be an object of names and values, not list"),
        ({"target_nodes": ","}, "target_nodes names no node: name at least one, or leave it out"),
        ({"target_nodes": []}, "target_nodes names no node: name at least one, or leave it out"),
        ({"target_nodes": [1]}, "target_nodes must be a list of node names, or text with commas, not list"),
        ({"target_nodes": {"n1": 1}}, "target_nodes must be a list of node names, or text with commas, not dict"),
        ({"force": "yes"}, "force must be true or false, not 'yes'"),
        ({"force": 1}, "force must be true or false, not '1'"),
        ({"revision": 0}, "revision must be the number of a revision, from 1, not '0'"),
        ({"revision": True}, "revision must be the number of a revision, from 1, not 'True'"),
        ({"revision": "٣" * 40}, f"revision must be the number of a revision, from 1, not '{'٣' * 40}'"),
        ({"revision": 2**31}, "revision must be the number of a revision, from 1, not '2147483648'"),
        ({"target_node": "n1"}, "there is no parameter 'target_node'; did you mean 'target_nodes'?"),
        (
            {"verify": True},
            "there is no parameter 'verify'; known are target_nodes, revision, force, redo_done, "
            "ignore_older_tasks, allow_redeploy, many_redeploys, below_criteria, dry_run, continue-on-fail, "
            "max_parallel_groups",
        ),
        ({"site": "alpha"}, "there is no parameter 'site'; give the site in the query: ?site=NAME"),
    ],
)
def test_what_cannot_be_read_is_told(given: object, said: str) -> None:
    with pytest.raises(ParameterError) as refused:
        parse_parameters(given, SITE)
    assert refused.value.problems == (said,)


@pytest.mark.parametrize("given", [0, 17, -1, True, 1.5, "two", "", [3]])
def test_so_many_groups_cannot_run_at_once(given: object) -> None:
    with pytest.raises(ParameterError, match="max_parallel_groups must be a whole number from 1 to 16, not "):
        parse_parameters({"max_parallel_groups": given}, SITE)


def test_a_kind_with_one_group_has_none_side_by_side() -> None:
    with pytest.raises(ParameterError, match="there is no parameter 'max_parallel_groups'"):
        parse_parameters({"max_parallel_groups": 2}, SERVER)


def test_the_settings_of_the_site_say_how_many_groups_run_at_once_where_the_action_does_not() -> None:
    plain, one, named = ActionParameters(), ActionParameters(max_parallel_groups=1), ActionParameters(("n1",))
    assert plain.with_default(SITE, 8).places == 8
    assert one.with_default(SITE, 8) == one, "the action says so itself"
    assert plain.with_default(SITE, 1) == plain, "what was kept by earlier versions stays as it is"
    assert named.with_default(SITE, 8) == named, "named nodes are one group"
    assert named.with_default(kind_of("repair_site"), 8).places == 8, "repaired nodes stay in their groups"
    assert named.with_default(SERVER, 8) == named
    assert plain.with_default(SITE, 8).to_record() == {"max_parallel_groups": 8}
    assert plain.with_default(SITE, 8).run_conf("alpha", 7)["max_parallel_groups"] == 8
    assert read_checked(one.to_record()) == one
    assert (plain.group_task, one.group_task) == ("deploy_group", "deploy_group")
    assert plain.with_default(SITE, 2).group_task == "deploy_group_beside"


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(ParameterError) as refused:
        parse_parameters({"forse": "true", "dry_run": "maybe", "revision": "-1"}, SITE)
    assert [problem.split()[0] for problem in refused.value.problems] == ["there", "dry_run", "revision"]


def test_a_flood_of_unknown_names_is_cut_short() -> None:
    with pytest.raises(ParameterError) as refused:
        parse_parameters({f"{'x' * 10_000}{number}": 1 for number in range(1000)}, SITE)
    assert len(refused.value.problems) == 100
    assert max(map(len, refused.value.problems)) < 300


_TEXT = st.text(" ,-0129TRUEtruefalse\u0663")
_VALUES = st.none() | st.booleans() | st.integers() | st.floats() | _TEXT | st.lists(_TEXT | st.integers())


@given(st.dictionaries(st.sampled_from(("target_nodes", "force", "revision", "continue-on-fail")), _VALUES))
def test_nothing_is_read_as_something_else(parameters: dict[str, Any]) -> None:
    try:
        read = parse_parameters(parameters, SITE)
    except ParameterError:
        return
    assert read.target_nodes is None or all(read.target_nodes)
    assert parse_parameters(read.to_record(), SITE) == read == read_checked(read.to_record())


def test_what_is_recorded_and_what_the_run_is_given() -> None:
    given = {"target_nodes": ["n1"], "below_criteria": True, "continue-on-fail": True}
    parameters = parse_parameters(given, SERVER, allow_intermediate=True)
    assert parameters.to_record() == given | {"allow-intermediate-commits": True}
    assert parameters.run_conf("alpha", 7) == {
        "site": "alpha",
        "revision": 7,
        "target_nodes": ["n1"],
        "force": False,
        "below_criteria": True,
        "dry_run": False,
    }


def test_an_override_is_given_by_its_name_or_by_force() -> None:
    for override in Override:
        assert ActionParameters(force=True).allows(override) is (override not in BY_NAME_ALONE)
        assert ActionParameters(overrides=frozenset({override})).allows(override)
        assert not ActionParameters(overrides=frozenset(Override) - {override}).allows(override)


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ({"target_nodes": None, "force": False, "dry_run": False}, ActionParameters()),
        ({"force": True, "dry_run": "True"}, ActionParameters(force=True, dry_run=True)),
        ({"allow-intermediate-commits": True}, ActionParameters(allow_intermediate=True)),
        ({"target_nodes": ["n1"], "something": "else"}, ActionParameters(target_nodes=("n1",))),
    ],
)
def test_what_an_earlier_version_has_kept_is_read(kept: dict[str, Any], expected: ActionParameters) -> None:
    assert read_checked(kept) == expected


def test_only_an_action_without_named_nodes_is_on_the_whole_site() -> None:
    assert ActionParameters().is_whole_site(SITE)
    assert not ActionParameters(target_nodes=("n1",)).is_whole_site(SITE)
    assert not ActionParameters().is_whole_site(SERVER)
