"""Metrics, their table in the docs, the alert rules and the dashboard name the same things."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from site_engine.monitoring.metrics import METRICS, Shape
from strategy_lib.parsing.notifications import NotificationKind
from strategy_lib.status.words import Status
from tests.conftest import ROOT

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
