"""Deciding a task's whole course when it starts: which nodes, how each fares, when it ends. See `executor`."""

from __future__ import annotations

import heapq
import json
import random
import sqlite3
import time
from collections.abc import Sequence

from provisioner_client.simulator.design_cache import DesignCache
from provisioner_client.simulator.designs import SiteDesign, named_nodes, select_names
from provisioner_client.simulator.errors import FilterCrash
from provisioner_client.simulator.machines import MachinePark, Work, site_seconds, stage_seconds
from provisioner_client.simulator.scripts import ScriptBook, choose_script
from provisioner_client.simulator.settings import Settings
from provisioner_client.simulator.store import Store
from provisioner_client.simulator.tasks.ledger import NODE_PHASES, PARALLEL, SITE_ACTIONS, Action, TaskLedger
from provisioner_client.simulator.tasks.plans import NodePlan, Submission, plan_node, release, schedule

NO_NODES = "No nodes in scope, no work to do."
_COUNTERS = {
    Work.PREPARE: "prepares",
    Work.DEPLOY: "deploys",
    Work.DESTROY: "destroys",
    Work.RELABEL: "relabels",
}


class TaskPlanner:
    """All methods but `design_of` are called inside a transaction of the store."""

    def __init__(
        self, store: Store, park: MachinePark, ledger: TaskLedger, designs: DesignCache, settings: Settings
    ) -> None:
        self._store, self._park, self._ledger, self._designs, self._settings = store, park, ledger, designs, settings
        self._scripts = ScriptBook(store)

    def design_of(self, row: sqlite3.Row) -> SiteDesign:
        """Return the design that a task is for.

        Raises `DesignUnresolvable` if the design cannot be read; the real server then runs the task for ever.
        """
        # It is used for the task, and again for every node of it.
        names = named_nodes(json.loads(row["node_filter"]))
        return self._designs.resolve(row["design_ref"], uses=1 + len(names or ()))

    def hang(self, row: sqlite3.Row, reason: str) -> None:
        """Let the task run for ever."""
        self._ledger.plan(row["task_id"], None, [], None, "incomplete", [], [], reason)

    def plan(self, row: sqlite3.Row, design: SiteDesign) -> None:
        """Decide the task's course and store it."""
        self._park.add_design(design)
        if row["action"] in SITE_ACTIONS:
            self._plan_site_action(row, design)
            return
        try:
            names = select_names(json.loads(row["node_filter"]), design.nodes)
        except FilterCrash as crash:
            if not crash.task_survives:
                self.hang(row, str(crash))
                return
            names = []
        if not names:
            self._ledger.plan(row["task_id"], design.site, [], time.time(), "success", [], [], NO_NODES)
            return
        if not self._ledger.has_submissions(row["task_id"]):
            self._ledger.note_submissions(row["task_id"], row["reference"], row["action"], names, time.time())
        phase = NODE_PHASES.get(row["action"])
        if phase is None:
            # verify_nodes: it names no node.
            self._ledger.plan(row["task_id"], design.site, [], self._site_end(row), "success", [], [])
        else:
            self._plan_phase(row, design.site, phase, names)

    def release(self, row: sqlite3.Row, node: str | None) -> list[str]:
        """Let stuck nodes of a running task go on, and those that waited for their thread; return the stuck ones."""
        phase = NODE_PHASES.get(row["action"])
        if phase is None:
            return []
        now, speed = time.time(), self._settings.speed
        plans = self._ledger.plans(row["task_id"])
        submissions = self._submissions(row["site"], phase, [plan.node for plan in plans])
        changed: dict[int, NodePlan] = {}
        for position, plan in enumerate(plans):
            if plan.start is not None and plan.end is None and node in (None, plan.node):
                changed[position] = release(plan, submissions[position], now, speed)
        released = [plan.node for plan in changed.values()]
        free = [plan.end for plan in changed.values() if plan.end is not None]
        heapq.heapify(free)
        for position, plan in enumerate(plans):
            if plan.start is None and free:
                changed[position] = plan_node(submissions[position], heapq.heappop(free), speed)
                if (end := changed[position].end) is not None:
                    heapq.heappush(free, end)
        for position, plan in changed.items():
            self._replace(row, position, plans[position], plan)
        self._finish_plan(row, [changed.get(position, plan) for position, plan in enumerate(plans)])
        return released

    def _plan_site_action(self, row: sqlite3.Row, design: SiteDesign) -> None:
        # As a task, validate_design always fails; /validatedesign is the way.
        result = "failure" if row["action"] == Action.VALIDATE_DESIGN else "success"
        networks = list(design.networks) if row["action"] == Action.PREPARE_SITE else []
        self._shuffle(row, networks)
        self._ledger.plan(row["task_id"], design.site, [], self._site_end(row), result, networks, [])

    def _plan_phase(self, row: sqlite3.Row, site: str, phase: Work, names: list[str]) -> None:
        counter = _COUNTERS[phase]
        self._store.execute_many(
            f"UPDATE node SET {counter} = {counter} + 1 WHERE site = ? AND name = ?",  # noqa: S608 - a name from this file
            [(site, name) for name in names],
        )
        if phase is Work.PREPARE:
            self._store.execute_many(
                "UPDATE node SET hidden = 0 WHERE site = ? AND name = ?", [(site, name) for name in names]
            )
        submissions = self._submissions(site, phase, names)
        # The driver destroys and labels one node after the other.
        at_a_time = self._settings.fan_out if phase in PARALLEL else 1
        plans = schedule(submissions, time.time(), self._settings.speed, at_a_time)
        self._ledger.plan(row["task_id"], site, plans, None, "incomplete", [], [])
        self._finish_plan(row, plans)
        in_flight = min(len(names), at_a_time)
        self._store.set_meta("max_in_flight", max(in_flight, int(self._store.meta("max_in_flight") or 0)))

    def _finish_plan(self, row: sqlite3.Row, plans: Sequence[NodePlan]) -> None:
        """Store what the task comes to and when: never, while one of its nodes never ends."""
        successes = [plan.node for plan in plans if plan.succeeded]
        failures = [plan.node for plan in plans if plan.failed]
        self._shuffle(row, successes)
        self._shuffle(row, failures)
        ends = [plan.end for plan in plans]
        ends_at = None if None in ends else max(end for end in ends if end is not None)
        self._store.execute(
            "UPDATE task SET ends_at = ?, result = ?, successes = ?, failures = ? WHERE task_id = ?",
            (ends_at, _result(successes, failures), json.dumps(successes), json.dumps(failures), row["task_id"]),
        )

    def _replace(self, row: sqlite3.Row, position: int, old: NodePlan, new: NodePlan) -> None:
        self._ledger.replace_plan(row["task_id"], position, new)
        if (
            old.change is not None
            and new.change is not None
            and old.change.then is None
            and new.change.during is not None
        ):
            # MAAS is at it already: it has only lacked an end.
            self._park.begin(row["site"], new.node, new.change.during, new.change.then, new.change.after)

    def _submissions(self, site: str, phase: Work, names: Sequence[str]) -> list[Submission]:
        statuses = self._park.statuses(site)
        counts = self._store.rows(f"SELECT name, {_COUNTERS[phase]} FROM node WHERE site = ?", (site,))  # noqa: S608
        attempts: dict[str, int] = {row[0]: row[1] for row in counts}
        scripts = self._scripts.all()
        booted = self._park.booted(site)
        return [
            Submission(
                node=name,
                phase=phase,
                status=statuses[name],
                attempt=attempts[name],
                script=choose_script(scripts, name, phase, attempts[name]),
                seconds=stage_seconds(self._settings.seed, name, phase, attempts[name]),
                booted=name in booted,
            )
            for name in names
        ]

    def _site_end(self, row: sqlite3.Row) -> float:
        return time.time() + site_seconds(self._settings.seed, row["action"], row["seq"]) / self._settings.speed

    def _shuffle(self, row: sqlite3.Row, names: list[str]) -> None:
        """Bring a list into an order that means nothing, the same for the same seed."""
        random.Random(f"{self._settings.seed}:{row['seq']}").shuffle(names)


def _result(successes: list[str], failures: list[str]) -> str:
    """Return a task's result as Drydock has it: without a failed node it is a success, also with empty lists."""
    if not failures:
        return "success"
    return "partial_success" if successes else "failure"
