"""Parameters of an action, as clients write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipway_api.actions.parameters import ActionParameters, ParameterError, parse_parameters


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, ActionParameters()),
        ({}, ActionParameters()),
        ({"target_nodes": "n1, n2,,n1"}, ActionParameters(target_nodes=("n1", "n2"))),
        ({"target_nodes": ["n1", " n2 "]}, ActionParameters(target_nodes=("n1", "n2"))),
        ({"force": "True", "dry_run": True}, ActionParameters(force=True, dry_run=True)),
        ({"force": "false", "dry_run": None}, ActionParameters()),
        ({"revision": "12"}, ActionParameters(revision=12)),
        ({"revision": 12}, ActionParameters(revision=12)),
        ({"continue-on-fail": "TRUE"}, ActionParameters(continue_on_fail=True)),
    ],
)
def test_values_are_read(given: object, expected: ActionParameters) -> None:
    assert parse_parameters(given) == expected


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
        ({"site": "alpha"}, "there is no parameter 'site'; give the site in the query: ?site=NAME"),
    ],
)
def test_what_cannot_be_read_is_told(given: object, said: str) -> None:
    with pytest.raises(ParameterError) as refused:
        parse_parameters(given)
    assert refused.value.problems == (said,)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(ParameterError) as refused:
        parse_parameters({"forse": "true", "dry_run": "maybe", "revision": "-1"})
    assert [problem.split()[0] for problem in refused.value.problems] == ["there", "dry_run", "revision"]


def test_a_flood_of_unknown_names_is_cut_short() -> None:
    with pytest.raises(ParameterError) as refused:
        parse_parameters({f"{'x' * 10_000}{number}": 1 for number in range(1000)})
    assert len(refused.value.problems) == 100
    assert max(map(len, refused.value.problems)) < 200


_TEXT = st.text(" ,-0129TRUEtruefalse\u0663")
_VALUES = st.none() | st.booleans() | st.integers() | st.floats() | _TEXT | st.lists(_TEXT | st.integers())


@given(st.dictionaries(st.sampled_from(("target_nodes", "force", "revision", "continue-on-fail")), _VALUES))
def test_nothing_is_read_as_something_else(parameters: dict[str, Any]) -> None:
    try:
        read = parse_parameters(parameters)
    except ParameterError:
        return
    assert read.target_nodes is None or all(read.target_nodes)
    assert parse_parameters(read.recorded()) == read


def test_what_is_recorded_and_what_the_run_is_given() -> None:
    parameters = ActionParameters(target_nodes=("n1",), force=True, continue_on_fail=True)
    assert parameters.recorded() == {"target_nodes": ["n1"], "force": True, "continue-on-fail": True}
    assert parameters.run_conf("alpha", 7) == {
        "site": "alpha",
        "revision": 7,
        "target_nodes": ["n1"],
        "force": True,
        "dry_run": False,
    }
