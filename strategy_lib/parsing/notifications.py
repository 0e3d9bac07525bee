"""Who is told what about a site: the document `slipway/Notifications/v1`. It names connections, and holds no secret."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.errors import Origin, Problem, StrategyLibError, problem_at
from strategy_lib.parsing.schema_check import check_data

NOTIFICATIONS_SCHEMA = "slipway/Notifications/v1"
_NOT_VALID = "The notifications are not valid. Mend the targets listed below."


class NotificationKind(StrEnum):
    """What happened that somebody may want to be told."""

    VERDICT = "verdict"
    CRITICAL_GROUP_FAILED = "critical_group_failed"
    GATE_WAITING = "gate_waiting"
    OWNER_UNRESPONSIVE = "owner_unresponsive"
    OWNER_BACK = "owner_back"
    SITE_UNWATCHED = "site_unwatched"
    SITE_WATCHED = "site_watched"
    NODE_REPORT = "node_report"
    NODE_TROUBLE = "node_trouble"
    OBJECTS_CHANGED = "objects_changed"


UNLESS_NAMED = frozenset(NotificationKind) - {
    NotificationKind.NODE_REPORT,
    NotificationKind.NODE_TROUBLE,
    NotificationKind.OBJECTS_CHANGED,
}
"""What a target is told whose document names no events: what may be much has to be named."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """A signed HTTP request. `connection` is the Airflow connection with its URL and its key."""

    connection: str


@dataclass(frozen=True, slots=True)
class Notifier:
    """A notifier of Airflow's, run in the DAG `notify`.

    Attributes
    ----------
    name : which one; a name, and no path of a class: a document loads no code.
    connection : the Airflow connection that it uses; None: its own default.
    arguments : what else it takes; plain values, never templates.
    """

    name: str
    connection: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Target:
    """One that is told. `events`: of what; `way`: how.

    `objects`: of which objects it is told `objects_changed`, each a kind (`node`) or one (`node/gw01`); none: of all.
    """

    name: str
    way: Webhook | Notifier
    events: frozenset[NotificationKind] = UNLESS_NAMED
    objects: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Notifications:
    """All targets of a site, in the order of the document."""

    targets: tuple[Target, ...] = ()

    def wanting(self, kind: NotificationKind) -> tuple[Target, ...]:
        """Return the targets that are told of this kind of event."""
        return tuple(target for target in self.targets if kind in target.events)

    def get(self, name: str) -> Target | None:
        """Return the target of this name, None where there is none any more."""
        return next((target for target in self.targets if target.name == name), None)

    def to_data(self) -> dict[str, Any]:
        """Return the `data` of a document that says the same."""
        return {"targets": [_target_data(target) for target in self.targets]}


NOBODY = Notifications()
"""Nobody is told anything."""


def parse_notifications(data: object, document: Origin | None = None) -> Notifications:
    """Read the `data` of a document. Raises `StrategyLibError` with everything that is wrong."""
    problems = check_data("notifications", data, document)
    given = data.get("targets") if isinstance(data, Mapping) else None
    targets: list[Target] = []
    entries = [entry for entry in given if isinstance(entry, Mapping)] if isinstance(given, list) else []
    if not problems:
        problems = _meaning(entries, document)
    if problems:
        raise StrategyLibError(problems, _NOT_VALID)
    targets = [_target(entry) for entry in entries]
    return Notifications(tuple(targets))


def _meaning(entries: Sequence[Mapping[str, Any]], document: Origin | None) -> list[Problem]:
    problems = []
    names = Counter(entry["name"] for entry in entries)
    for place, entry in enumerate(entries):
        path = f"$.data.targets[{place}]"
        if names[entry["name"]] > 1:
            problems.append(
                problem_at(f"{path}.name", f"{entry['name']!r} is the name of another target, too", document)
            )
        if ("webhook" in entry) == ("notifier" in entry):
            problems.append(problem_at(path, "must have exactly one of webhook and notifier", document))
        for number, event in enumerate(entry.get("events", ())):
            if event not in tuple(NotificationKind):
                hint = did_you_mean(event, tuple(NotificationKind), quoted=False)
                message = f"there is no event {event[:64]!r}; {hint}"
                problems.append(problem_at(f"{path}.events[{number}]", message, document))
        watches = NotificationKind.OBJECTS_CHANGED in entry.get("events", ())
        if watches and "webhook" not in entry:
            message = "only a webhook is told of objects_changed: a notifier would try again"
            problems.append(problem_at(f"{path}.events", message, document))
        if "objects" in entry and not watches:
            message = "names objects that it is not told of: add objects_changed to its events"
            problems.append(problem_at(f"{path}.objects", message, document))
    return problems


def _target(entry: Mapping[str, Any]) -> Target:
    events = frozenset(map(NotificationKind, entry["events"])) if "events" in entry else UNLESS_NAMED
    webhook, notifier = entry.get("webhook"), entry.get("notifier")
    if webhook is not None:
        objects = frozenset(entry.get("objects", ()))
        return Target(entry["name"], Webhook(webhook["connection"]), events, objects)
    assert notifier is not None
    arguments = dict(notifier.get("arguments", {}))
    return Target(entry["name"], Notifier(notifier["name"], notifier.get("connection"), arguments), events)


def _target_data(target: Target) -> dict[str, Any]:
    events = [kind.value for kind in NotificationKind if kind in target.events]
    if isinstance(target.way, Webhook):
        objects = {"objects": sorted(target.objects)} if target.objects else {}
        return {"name": target.name, "events": events, **objects, "webhook": {"connection": target.way.connection}}
    notifier: dict[str, Any] = {"name": target.way.name, "arguments": dict(target.way.arguments)}
    if target.way.connection is not None:
        notifier["connection"] = target.way.connection
    return {"name": target.name, "events": events, "notifier": notifier}
