"""The document with the settings of a site."""

from __future__ import annotations

import re
from typing import Any

import pytest

from design_rendering.design import read_design
from design_rendering.reading.documents import load_documents
from design_rendering.validation import validate
from strategy_lib.errors import StrategyLibError
from strategy_lib.parsing.schema_check import schema
from strategy_lib.parsing.site_settings import (
    DEFAULT_SETTINGS,
    SITE_SETTINGS_SCHEMA,
    SiteSettings,
    parse_site_settings,
)

SITE = """\
schema: drydock/BaremetalNode/v1
metadata: {name: n1}
data: {}
"""
SETTINGS = """\
---
schema: slipway/SiteSettings/v1
metadata: {name: %s}
data:
  updates: {redeploy_percent: %s}
"""


def test_every_setting_has_a_default() -> None:
    assert parse_site_settings({}) == DEFAULT_SETTINGS == SiteSettings(20, 5, 86400)
    read = parse_site_settings({"updates": {"redeploy_percent": 0}, "unknown_nodes": {"follow_timeout": 60}})
    assert read == SiteSettings(redeploy_percent=0, follow_timeout=60)


def test_the_schema_names_the_same_settings_and_defaults() -> None:
    definitions = schema("site_settings")["$defs"]
    sections = {
        name: about["default"]
        if "default" in about
        else {setting: its["default"] for setting, its in definitions[name]["properties"].items()}
        for name, about in definitions["data"]["properties"].items()
    }
    assert sections == DEFAULT_SETTINGS.to_data()


def test_what_was_read_can_be_written_and_read_again() -> None:
    read = SiteSettings(1, 2, 3)
    assert parse_site_settings(read.to_data()) == read


@pytest.mark.parametrize(
    ("given", "mode"),
    [("off", "off"), (False, "off"), ("on", "on"), (True, "on"), ("observe", "observe"), ("redeploy", "redeploy")],
)
def test_on_and_off_need_no_quotes_in_yaml(given: object, mode: str) -> None:
    read = parse_site_settings({"repair": given, "max_repairs_per_hour": 3})
    assert (read.repair, read.max_repairs_per_hour) == (mode, 3)
    assert parse_site_settings(read.to_data()) == read


def test_a_whole_number_may_be_written_with_a_point() -> None:
    read = parse_site_settings({"updates": {"redeploy_nodes": 5.0}})
    assert read == DEFAULT_SETTINGS
    assert isinstance(read.redeploy_nodes, int)


@pytest.mark.parametrize(
    ("data", "path", "words"),
    [
        (None, "", "must be a mapping"),
        ({"update": {}}, ".update", "did you mean updates?"),
        ({"updates": {"redeploy_nodes": -1}}, ".updates.redeploy_nodes", "0"),
        ({"updates": {"redeploy_percent": 101}}, ".updates.redeploy_percent", "100"),
        ({"updates": {"redeploy_percent": "20%"}}, ".updates.redeploy_percent", "must be a whole number"),
        ({"updates": {"redeploy_percent": True}}, ".updates.redeploy_percent", "must be a whole number"),
        ({"unknown_nodes": {"follow_timeout": 0.5}}, ".unknown_nodes.follow_timeout", "must be a whole number"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_settings(data: Any, path: str, words: str) -> None:
    with pytest.raises(StrategyLibError) as caught:
        parse_site_settings(data)
    assert any(problem.path == f"$.data{path}" and words in problem.message for problem in caught.value.problems)


@pytest.mark.parametrize("value", [-1, 10**10, 10**400, float("nan"), float("inf"), True, "5", None, 1.5])
def test_no_setting_takes_what_is_no_sensible_number(value: object) -> None:
    settings = DEFAULT_SETTINGS.to_data()
    numbers = [(section, name) for section, data in settings.items() if isinstance(data, dict) for name in data]
    for section, name in numbers:
        if name != "health_url":
            with pytest.raises(StrategyLibError, match=name):
                parse_site_settings({section: {name: value}})
    for name in ("max_repairs_per_hour", "max_parallel_groups"):
        with pytest.raises(StrategyLibError, match=name):
            parse_site_settings({name: value})


def test_a_design_has_the_settings_of_its_site() -> None:
    assert read_design(load_documents(SITE, "site.yaml")).settings == DEFAULT_SETTINGS
    design = read_design(load_documents(SITE + SETTINGS % ("settings", 7), "site.yaml"))
    assert design.settings.redeploy_percent == 7


def test_a_site_has_one_document_of_settings() -> None:
    documents = load_documents(SITE + SETTINGS % ("one", 7) + SETTINGS % ("two", 8), "site.yaml")
    with pytest.raises(StrategyLibError, match=re.escape(SITE_SETTINGS_SCHEMA)):
        read_design(documents)


def test_wrong_settings_are_found_with_their_line() -> None:
    documents = load_documents(SITE + SETTINGS % ("settings", 700), "site.yaml")
    (problem,) = (found for found in validate(documents) if found.path == "$.data.updates.redeploy_percent")
    assert (problem.source, problem.line, problem.level) == ("site.yaml", 8, "error")


def test_how_many_groups_run_side_by_side() -> None:
    assert parse_site_settings({}).max_parallel_groups == 1
    read = parse_site_settings({"max_parallel_groups": 16.0})
    assert read.max_parallel_groups == 16
    assert parse_site_settings(read.to_data()) == read
    for wrong in (0, 17, "2", True, 1.5, None):
        with pytest.raises(StrategyLibError):
            parse_site_settings({"max_parallel_groups": wrong})
