"""What the doctor knows of an installation, and what it says of it. Plain values: nothing here asks anybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from site_engine.monitoring.process_notes import SILENT
from site_store import CheckRecord, ProcessRecord, Role, ServerFacts
from strategy_lib.airflow_settings import CELERY


class Level(StrEnum):
    """How much a finding matters: with an error work fails, or may; with a warning it is slow, or will fail."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes
    ----------
    what : what is wrong, and where.
    why : why it matters.
    fix : the exact line to change, or the command to run.
    """

    level: Level
    what: str
    why: str
    fix: str

    def to_data(self) -> dict[str, str]:
        """Return it as JSON values."""
        return {"level": self.level.value, "what": self.what, "why": self.why, "fix": self.fix}


@dataclass(frozen=True, slots=True)
class DagFacts:
    """What Airflow says of the DAGs that it has: those that are paused, and of all that it found."""

    found: frozenset[str]
    paused: frozenset[str] = frozenset()
    import_errors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known. None stands for what could not be asked; why not stands in `not_looked_at`.

    Attributes
    ----------
    now : the database's time.
    version, schema : of the Slipway that asks.
    store_problem, store_fix : why the store cannot be used, and what to do; then nothing of it is known.
    api_problem : why the API server does not answer.
    held : why nothing is sent to a provisioner, with the command that ends it; None: it may be sent.
    controller_leads : whether a controller leads now: what checks found before is old.
    health : what is wrong with each of Airflow's components, by what Airflow says.
    provisioners : sites, and what is wrong with the provisioner of each.
    unnamed : sites whose nodes are asked, and the nodes of each that sign by version 1 (rule 63).
    not_looked_at : what was not asked, and why.
    """

    now: datetime
    version: str
    schema: str
    processes: Sequence[ProcessRecord] = ()
    store_problem: str | None = None
    store_fix: str = ""
    api_problem: str | None = None
    held: str | None = None
    server: ServerFacts | None = None
    checks: Sequence[CheckRecord] | None = None
    controller_leads: bool = False
    dags: DagFacts | None = None
    health: Mapping[str, str | None] | None = None
    provisioners: Mapping[str, str | None] | None = None
    unnamed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    not_looked_at: Sequence[str] = ()

    def counted(self, *roles: str) -> list[ProcessRecord]:
        """Return the processes of these roles, or all, that are there; and machines of workers by their newest task.

        A worker's note of before the schedulers were started is of the settings and the version of before.
        """
        return [one for one in self.processes if (not roles or one.role in roles) and self._counts(one)]

    def old_workers(self) -> list[ProcessRecord]:
        """Return machines of workers on which no task has run since the schedulers were started."""
        return [one for one in self.processes if one.role == Role.WORKER and not self._counts(one)]

    def frozen(self) -> list[ProcessRecord]:
        """Return processes that gave no sign for long, and that no other on their machine has followed."""
        return [
            one
            for one in self.processes
            if one.role != Role.WORKER
            and one.silent_for(self.now) > SILENT
            and not any(
                other.role == one.role and other.host == one.host and other.started > one.last_sign
                for other in self.processes
            )
        ]

    @property
    def uses_celery(self) -> bool:
        """Whether tasks run in Celery's workers."""
        executors = (settings_of(one).get("core.executor", "") for one in self.counted(Role.SCHEDULER, Role.API_SERVER))
        return any(CELERY in executor for executor in executors)

    @property
    def hosts(self) -> frozenset[str]:
        """The machines on which something runs."""
        return frozenset(one.host for one in self.counted())

    def _counts(self, one: ProcessRecord) -> bool:
        if one.role != Role.WORKER:
            return one.silent_for(self.now) <= SILENT
        starts = [
            other.started
            for other in self.processes
            if other.role == Role.SCHEDULER and other.silent_for(self.now) <= SILENT
        ]
        return not starts or one.last_sign >= min(starts)


@dataclass(frozen=True, slots=True)
class Report:
    """What the doctor says: errors first; what it looked at, and what it could not look at."""

    findings: Sequence[Finding]
    looked_at: Sequence[str]
    not_looked_at: Sequence[str]

    @property
    def has_errors(self) -> bool:
        """Whether one of the findings is an error."""
        return any(finding.level is Level.ERROR for finding in self.findings)

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "findings": [finding.to_data() for finding in self.findings],
            "looked_at": list(self.looked_at),
            "not_looked_at": list(self.not_looked_at),
        }


def settings_of(process: ProcessRecord) -> Mapping[str, str]:
    """Return the values of settings that a process has noted, by their names."""
    found: Mapping[str, str] = process.environment.get("settings", {})
    return found


def places(processes: Sequence[ProcessRecord]) -> str:
    """Return where processes run, in words: `scheduler on a, b; worker on c`."""
    by_role: dict[str, list[str]] = {}
    for one in processes:
        by_role.setdefault(one.role, []).append(one.host)
    return "; ".join(f"{role} on {', '.join(sorted(set(hosts)))}" for role, hosts in sorted(by_role.items()))
