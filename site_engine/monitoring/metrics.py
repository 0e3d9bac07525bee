"""The metrics: their names, what they mean, their text as Prometheus reads it, and what measures them as they happen.

Durations and outcomes are given to Airflow's own metrics at the moment they are known; the store has the numbers for
ever. What takes them is set by who starts the engine: this room knows no Airflow.
"""

from __future__ import annotations

import logging
import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from site_store import ActionRecord, GroupRecord, Operation, OperationStatus

log = logging.getLogger(__name__)

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Shape(StrEnum):
    """What Prometheus calls the type of a metric."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric by its name.

    Attributes
    ----------
    help : what it says, in a sentence.
    labels : the names of its labels, in order.
    bounds : upper bounds of the buckets of a histogram, in seconds, without infinity.
    """

    name: str
    shape: Shape
    help: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Be one of those that are shown."""
        METRICS.append(self)


METRICS: Final[list[Metric]] = []
"""All of them, in the order in which they stand here."""


def _gauge(name: str, said: str, *labels: str) -> Metric:
    return Metric(name, Shape.GAUGE, said, labels)


def _counter(name: str, said: str, *labels: str) -> Metric:
    return Metric(name, Shape.COUNTER, said, labels)


def _histogram(name: str, bounds: tuple[float, ...], said: str, *labels: str) -> Metric:
    return Metric(name, Shape.HISTOGRAM, said, labels, bounds)


_WORK = (1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14400)
_CALL = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)

NODES = _gauge("slipway_nodes", "Nodes by the status that their site shows.", "site", "status")
NODES_SERVING = _gauge(
    "slipway_nodes_serving",
    "Nodes by what they serve: nothing, an older revision, or the wanted one.",
    "site",
    "serves",
)
ACTIONS_RUNNING = _gauge("slipway_actions_running", "Actions that are pending or running.", "site", "kind")
ACTION_OUTCOMES = _counter(
    "slipway_action_outcomes_total", "Ends of actions, by how; also of those that went on.", "site", "kind", "state"
)
LEFT_ALONE = _gauge(
    "slipway_nodes_left_alone",
    "Nodes of critical groups that the newest action on the whole site left alone though it is a success.",
    "site",
)
GROUP_OUTCOMES = _counter(
    "slipway_group_outcomes_total",
    "Verdicts of groups, one for each attempt, by the verdict and the reason of a failure.",
    "site",
    "state",
    "reason",
    "critical",
)
GROUP_SECONDS = _histogram("slipway_group_duration_seconds", _WORK, "From a group's start to its verdict.", "site")
PHASE_SECONDS = _histogram(
    "slipway_phase_duration_seconds",
    _WORK,
    "From when the provisioner begins an operation to its end.",
    "site",
    "phase",
)
QUEUE_SECONDS = _histogram(
    "slipway_queue_wait_seconds",
    _WORK,
    "From when an operation is submitted to when the provisioner begins it.",
    "site",
    "phase",
)
CALL_SECONDS = _histogram(
    "slipway_provisioner_call_seconds",
    _CALL,
    "Calls to provisioners by result, with how long they took.",
    "provisioner",
    "call",
    "result",
)
OWNER_UNRESPONSIVE = _gauge(
    "slipway_owner_unresponsive", "1 for an owner that has not checked in within its interval.", "owner"
)
SITE_WATCHED = _gauge(
    "slipway_site_watched",
    "1 while the newest answer about the nodes of a site is new enough; 0 where nobody looks at them.",
    "site",
)
NOTIFICATIONS_WAITING = _gauge("slipway_notifications_waiting", "Notifications that are not delivered yet.", "site")
WATCHER_CHANGES = _gauge(
    "slipway_watcher_changes",
    "Changes of objects by watcher and result (waiting, told, failed), of those that are kept.",
    "watcher",
    "result",
)
DRIFTS = _gauge("slipway_drifts", "Nodes that were done and are not as they were left.", "site")
DRIFTS_EVER = _counter("slipway_drifts_total", "Drifts of nodes that were found.", "site")
NODE_STATES = _gauge(
    "slipway_node_states",
    "Nodes by what is reported of them, what administrators set, and what is published (kind: reported, user, "
    "generated).",
    "site",
    "kind",
    "state",
)
NODE_CRASHES = _gauge(
    "slipway_node_crashes", "Crashes that are counted against nodes now; stable ones lose theirs.", "site"
)
SITE_LEADER = _gauge(
    "slipway_site_leader",
    "1 for the host whose controller leads the site; 0 for no host where none does.",
    "site",
    "host",
)
VIEW_EPOCH = _gauge(
    "slipway_site_state_epoch", "Epoch of the newest published version of a site's node states.", "site"
)
VIEW_VERSION = _gauge(
    "slipway_site_state_version", "Number of the newest published version, without its epoch.", "site"
)
VIEW_AGE = _gauge("slipway_site_state_age_seconds", "Seconds since the newest version was published.", "site")
VIEW_READERS = _gauge(
    "slipway_site_state_readers",
    "Readers that linger at this API server; behind: they have an older version than the published one.",
    "site",
    "behind",
)
REPAIRS = _counter(
    "slipway_repairs_total",
    "Repairs of nodes that are over, by result (success, failure, refused, observed).",
    "site",
    "result",
)
REPAIR_STOPPED = _gauge(
    "slipway_repair_stopped",
    "1 while the repair of a site is stopped, by its own switch (site) or by that of all sites (all).",
    "site",
    "by",
)


@dataclass(frozen=True, slots=True)
class Distribution:
    """A histogram's numbers: how many in each bucket (one more than there are bounds), and the sum of all."""

    counts: tuple[int, ...]
    total: float

    def __add__(self, other: Distribution) -> Distribution:
        counts = tuple(mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True))
        return Distribution(counts, self.total + other.total)


def bucket_of(metric: Metric, seconds: float) -> int:
    """Return the number of the bucket that a duration falls into."""
    return bisect_left(metric.bounds, seconds)


def distribution(metric: Metric, durations: Iterable[float]) -> Distribution:
    """Count durations into the buckets of a histogram."""
    counts = [0] * (len(metric.bounds) + 1)
    total = 0.0
    for seconds in durations:
        counts[bucket_of(metric, seconds)] += 1
        total += seconds
    return Distribution(tuple(counts), total)


# Control characters act on a terminal, or end a line of StatsD. What is written like a replaced one is replaced, too.
_REPLACED = re.compile(r"[\x00-\x1f\x7f-\x9f]|\\(?=x)")


@dataclass(frozen=True, slots=True)
class Sample:
    """A number of a metric. `labels` are the values of the metric's labels, in order."""

    metric: Metric
    labels: tuple[str, ...]
    value: float | Distribution

    def tags(self) -> Mapping[str, str]:
        """Return the labels by name. A control character in one is written as `\\x1b`, and two are never the same."""
        shown = (_REPLACED.sub(lambda found: f"\\x{ord(found[0]):02x}", label) for label in self.labels)
        return dict(zip(self.metric.labels, shown, strict=True))


def to_text(samples: Iterable[Sample]) -> str:
    """Return samples as Prometheus reads them: each metric once with what it means, also one without a sample.

    Raises `ValueError`: two samples have the same metric and labels.
    """
    by_metric: dict[str, dict[tuple[str, ...], Sample]] = {metric.name: {} for metric in METRICS}
    for sample in samples:
        known = by_metric[sample.metric.name]
        if sample.labels in known:
            raise ValueError(f"two samples of {sample.metric.name} with the labels {sample.labels}")
        known[sample.labels] = sample
    lines: list[str] = []
    for metric in METRICS:
        lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.shape}"]
        for _, sample in sorted(by_metric[metric.name].items()):
            lines += _lines(sample)
    return "\n".join(lines) + "\n"


def _lines(sample: Sample) -> Iterator[str]:
    metric, tags = sample.metric, list(sample.tags().items())
    if not isinstance(sample.value, Distribution):
        yield f"{metric.name}{_labels(tags)} {_number(sample.value)}"
        return
    so_far = 0
    for bound, number in zip((*metric.bounds, math.inf), sample.value.counts, strict=True):
        so_far += number
        yield f"{metric.name}_bucket{_labels([*tags, ('le', _number(bound))])} {so_far}"
    yield f"{metric.name}_sum{_labels(tags)} {_number(sample.value.total)}"
    yield f"{metric.name}_count{_labels(tags)} {so_far}"


def _labels(tags: Sequence[tuple[str, str]]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in tags) + "}" if tags else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(float(value))


Sink = Callable[[Sample], None]
_sinks: list[Sink] = []


def use_sink(sink: Sink) -> None:
    """Say what takes the measurements of this process; the newest alone does."""
    _sinks[:] = [sink]


def measure(metric: Metric, labels: tuple[str, ...], value: float) -> None:
    """Give one measurement away. That it cannot be taken is no failure of the work."""
    for sink in _sinks:
        try:
            sink(Sample(metric, labels, value))
        except Exception as error:  # noqa: BLE001 - whatever Airflow's metrics are set up to do
            log.warning("A measurement of %s was lost: %s", metric.name, error)


def measure_operation(operation: Operation) -> None:
    """Measure an operation that has ended: how long it waited at the provisioner, and how long it was at work."""
    labels = (operation.site, operation.phase.value)
    begun = operation.running_since
    if operation.submitted is not None and begun is not None:
        measure(QUEUE_SECONDS, labels, max(0.0, (begun - operation.submitted).total_seconds()))
    if begun is not None and operation.ended is not None:
        measure(PHASE_SECONDS, labels, max(0.0, (operation.ended - begun).total_seconds()))


def measure_abandoned(operations: Iterable[Operation], at: datetime | None) -> None:
    """Measure those of these operations that were given up at this time, with the group or action that they are of."""
    for operation in operations:
        if operation.status is OperationStatus.ABANDONED and operation.ended == at:
            measure_operation(operation)


def measure_group(site: str, group: GroupRecord) -> None:
    """Measure a group that has its verdict."""
    critical = str(group.definition.critical).lower()
    reason = "" if group.reason is None else group.reason.value
    measure(GROUP_OUTCOMES, (site, group.state.value, reason, critical), 1)
    if group.started is not None and group.ended is not None:
        measure(GROUP_SECONDS, (site,), max(0.0, (group.ended - group.started).total_seconds()))


def measure_action(action: ActionRecord) -> None:
    """Measure an action that has ended."""
    measure(ACTION_OUTCOMES, (action.site, action.kind, action.state.value), 1)
