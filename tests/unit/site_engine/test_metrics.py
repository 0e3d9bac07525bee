"""The text that Prometheus reads; its table in the docs, the alert rules and the dashboard name the same things."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from site_engine.monitoring.metrics import (
    CALL_SECONDS,
    GROUP_SECONDS,
    METRICS,
    NODES,
    Distribution,
    Sample,
    Shape,
    bucket_of,
    distribution,
    to_text,
)
from strategy_lib.parsing.notifications import NotificationKind
from strategy_lib.status.words import Status
from tests.conftest import ROOT


def test_every_metric_says_what_it_is_also_without_a_sample() -> None:
    text = to_text([])
    for metric in METRICS:
        assert f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {metric.shape}\n" in text


def test_a_gauge_is_one_line_for_each_set_of_labels() -> None:
    text = to_text([Sample(NODES, ("a", "success"), 12), Sample(NODES, ("a", "error"), 1)])
    assert 'slipway_nodes{site="a",status="error"} 1\nslipway_nodes{site="a",status="success"} 12\n' in text


def test_a_histogram_counts_what_is_at_most_each_bound() -> None:
    found = distribution(GROUP_SECONDS, [0.5, 1, 1.5, 20000])
    lines = to_text([Sample(GROUP_SECONDS, ("a",), found)]).splitlines()
    assert 'slipway_group_duration_seconds_bucket{site="a",le="1"} 2' in lines
    assert 'slipway_group_duration_seconds_bucket{site="a",le="5"} 3' in lines
    assert 'slipway_group_duration_seconds_bucket{site="a",le="14400"} 3' in lines
    assert 'slipway_group_duration_seconds_bucket{site="a",le="+Inf"} 4' in lines
    assert 'slipway_group_duration_seconds_sum{site="a"} 20003' in lines
    assert 'slipway_group_duration_seconds_count{site="a"} 4' in lines


def test_distributions_add_up() -> None:
    first, second = distribution(CALL_SECONDS, [0.01]), distribution(CALL_SECONDS, [100.0])
    assert first + second == distribution(CALL_SECONDS, [0.01, 100.0])
    assert bucket_of(CALL_SECONDS, 100.0) == len(CALL_SECONDS.bounds)


@given(st.text())
def test_a_name_never_leaves_its_quotes(name: str) -> None:
    (line,) = (
        line for line in to_text([Sample(NODES, (name, "error"), 1)]).split("\n") if line.startswith("slipway_nodes{")
    )
    found = re.fullmatch(r'slipway_nodes\{site="((?:[^"\\\n]|\\["\\n])*)",status="error"\} 1', line, re.DOTALL)
    assert found
    unescaped = re.sub(r"\\(.)", r"\1", found[1])
    assert re.sub(r"\\x([0-9a-f]{2})", lambda escape: chr(int(escape[1], 16)), unescaped) == name


def test_labels_carry_no_control_characters() -> None:
    text = to_text([Sample(NODES, ("a\x1b[2J\r\n\x00\x85b", "error"), 1), Sample(NODES, (r"a\x1b", "error"), 2)])
    assert Sample(NODES, ("a\nb", "error"), 1).tags()["site"] == r"a\x0ab", "StatsD gets the same"
    assert {character for character in text if unicodedata.category(character) == "Cc"} == {"\n"}
    assert r'slipway_nodes{site="a\\x1b[2J\\x0d\\x0a\\x00\\x85b",status="error"} 1' in text.split("\n")
    assert r'slipway_nodes{site="a\\x5cx1b",status="error"} 2' in text.split("\n"), "two names are never one"


def test_the_same_labels_twice_are_a_defect() -> None:
    with pytest.raises(ValueError, match="two samples of slipway_nodes"):
        to_text([Sample(NODES, ("a", "error"), 1), Sample(NODES, ("a", "error"), 2)])


def test_names_follow_the_conventions_of_prometheus() -> None:
    for metric in METRICS:
        assert metric.name.startswith("slipway_")
        assert metric.name.endswith("_total") == (metric.shape is Shape.COUNTER)
        in_seconds = metric.shape is Shape.HISTOGRAM or "econds" in metric.help
        assert metric.name.endswith("_seconds") == in_seconds, metric.name
        assert list(metric.bounds) == sorted(metric.bounds)
        assert bool(metric.bounds) == (metric.shape is Shape.HISTOGRAM)


def test_numbers_and_buckets_must_fit() -> None:
    with pytest.raises(ValueError, match="zip"):
        to_text([Sample(GROUP_SECONDS, ("a",), Distribution((1, 2), 3.0))])


PAGE = (ROOT / "docs" / "monitoring.md").read_text("utf-8")
ALERTS = (ROOT / "docs" / "monitoring" / "alerts.yaml").read_text("utf-8")
DASHBOARD: dict[str, Any] = json.loads((ROOT / "docs" / "monitoring" / "dashboard.json").read_text("utf-8"))
SERIES = {
    name
    for metric in METRICS
    for name in (
        [f"{metric.name}_{part}" for part in ("bucket", "sum", "count")]
        if metric.shape is Shape.HISTOGRAM
        else [metric.name]
    )
}
LABELS = {label for metric in METRICS for label in metric.labels} | {"le"}


def expressions() -> list[str]:
    rules = [rule["expr"] for group in yaml.safe_load(ALERTS)["groups"] for rule in group["rules"]]
    return rules + [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def test_the_table_has_every_metric_with_its_type_and_labels() -> None:
    rows = dict(re.findall(r"^\| `(slipway_\w+)` \| (\w+ \| [^|]+) \| .+ \|$", PAGE, re.MULTILINE))
    expected = {
        metric.name: f"{metric.shape} | {', '.join(f'`{label}`' for label in metric.labels)}" for metric in METRICS
    }
    assert rows == expected


def test_every_event_is_in_the_docs() -> None:
    rows = set(re.findall(r"^\| `(\w+)` \| .+ \| `\w+`", PAGE, re.MULTILINE))
    assert rows >= {kind.value for kind in NotificationKind}


def test_rules_and_dashboard_ask_for_what_there_is() -> None:
    for expression in expressions():
        names = set(re.findall(r"\bslipway_\w+", expression))
        assert names <= SERIES, expression
        assert set(re.findall(r"(\w+)=~?\"", expression)) <= LABELS | {"job"}, expression
        for statuses in re.findall(r'status="(\w+)"', expression):
            assert statuses in tuple(Status), expression


def test_every_metric_is_on_the_dashboard() -> None:
    shown = set(re.findall(r"slipway_\w+", json.dumps(DASHBOARD)))
    for metric in METRICS:
        assert any(name.startswith(metric.name) for name in shown), metric.name


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
