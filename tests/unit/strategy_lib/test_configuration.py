"""Rule 22: the settings of a deployment."""

from __future__ import annotations

from typing import Any

import pytest

from strategy_lib.errors import StrategyLibError
from strategy_lib.parsing.configuration import DeploymentConfiguration, parse_configuration


def test_rule_22_nothing_given_is_all_defaults() -> None:
    rows: list[dict[str, Any]] = [{}, {"physical_provisioner": {}}, {"armada": {"manifest": "full-site"}}]
    for data in rows:
        assert parse_configuration(data) == DeploymentConfiguration()


def test_rule_22_only_what_follows_the_last_group_may_take_no_time() -> None:
    assert parse_configuration({"physical_provisioner": {"join_wait": 0}}).join_wait == 0


def test_a_site_may_name_what_comes_after_a_successful_action() -> None:
    assert parse_configuration({"after_success": "update_software"}).after_success == "update_software"


@pytest.mark.parametrize("named", ["", None, 7, "no/dag", "../x"])
def test_what_comes_after_is_the_id_of_a_dag(named: object) -> None:
    with pytest.raises(StrategyLibError) as caught:
        parse_configuration({"after_success": named})
    assert [problem.path for problem in caught.value.problems] == ["$.data.after_success"]


def test_an_interval_that_is_not_given_fits_a_shorter_timeout() -> None:
    read = parse_configuration({"physical_provisioner": {"prepare_node_timeout": 5}})
    assert (read.prepare_node_interval, read.prepare_node_timeout) == (5, 5)


@pytest.mark.parametrize(
    ("settings", "path", "words"),
    [
        ({"deploy_timeout": -1}, "deploy_timeout", "a whole number from 1 to 315360000"),
        ({"deploy_timeout": 0, "deploy_interval": 5}, "deploy_timeout", "a whole number from 1 to"),
        ({"deploy_timeout": 10**12}, "deploy_timeout", "a whole number from 1 to 315360000"),
        ({"join_wait": -1}, "join_wait", "a whole number from 0 to 315360000"),
        ({"join_wait": 10**12}, "join_wait", "a whole number from 0 to 315360000"),
        ({"deploy_interval": 0}, "deploy_interval", "a whole number from 1 to 315360000"),
        ({"deploy_interval": "30"}, "deploy_interval", "not the text '30'"),
        ({"join_wait": True}, "join_wait", "not true"),
        ({"join_wait": False}, "join_wait", "not false"),
        ({"join_wait": None}, "join_wait", "not empty"),
        ({"deploy_interval": 31, "deploy_timeout": 30}, "deploy_interval", "not be above deploy_timeout, which is 30"),
        ({"verify_interval": 61}, "verify_interval", "must not be above verify_timeout, which is 60"),
        ({"deployment_strategy": ""}, "deployment_strategy", "must not be empty"),
        ({"deployment_strategy": None}, "deployment_strategy", "must be text, not empty"),
        ({"deploy_timout": 5}, "deploy_timout", "did you mean deploy_timeout?"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_configuration(settings: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(StrategyLibError) as caught:
        parse_configuration({"physical_provisioner": settings})
    (problem,) = caught.value.problems
    assert problem.path == f"$.data.physical_provisioner.{path}"
    assert words in problem.message
