"""Release nodes that the provisioner refuses to prepare, before a group is prepared (rule 11).

A release is a ``destroy_nodes`` operation of the group's attempt, with a row, a reference and a lease of its own: it is
joined again after a crash as every other (rules 12 to 14 and 23).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from site_engine import log_messages as story
from site_engine.operations.reconcile import record_end
from site_engine.operations.wait import StillRunning
from site_store import OperationPhase
from strategy_lib.outcome import REFUSED_BY_PREPARE
from strategy_lib.release import ReleasePlan, plan_release

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from provisioner_client.protocol import ListedNode
    from site_engine.operations.run import OperationRun
    from site_engine.operations.wait import PhaseTimes
    from site_engine.task_log import TaskLog
    from site_store import GroupRecord, Operation, PlannedGroup, SiteStore
    from strategy_lib.strategy import Group


class GroupRelease:
    """Releases nodes for one group.

    Parameters
    ----------
    store, operations
        Where everything is kept; who carries out one operation.
    site, design_ref : str
        Where the nodes are, and where the provisioner reads the design.
    times : PhaseTimes
        Interval and timeout of the release: those of destroying nodes.
    log : TaskLog
        The Airflow task's log.
    """

    def __init__(
        self, store: SiteStore, operations: OperationRun, site: str, design_ref: str, times: PhaseTimes, log: TaskLog
    ) -> None:
        self.store = store
        self.operations = operations
        self.site = site
        self.design_ref = design_ref
        self.times = times
        self.log = log

    def resume(self, record: GroupRecord) -> bool | StillRunning:
        """Finish a release of this attempt that is under way; False when there is none."""
        operation = begun_operation(self.store, record, OperationPhase.RELEASE)
        if operation is None or operation.ended is not None:
            return False
        return self._finish(operation)

    def release(self, record: GroupRecord, seen: Mapping[str, ListedNode]) -> bool | StillRunning:
        """Release those of these nodes that need it, once an attempt; nodes that have to stay as they are fail.

        Parameters
        ----------
        record : GroupRecord
        seen : mapping of str to ListedNode
            What the provisioner's list says of the nodes that are about to be prepared.

        Returns
        -------
        bool or StillRunning
            Whether something was released, so that the list is to be read again.

        Raises
        ------
        provisioner_client.errors.ProvisionerError
            The release could not be submitted; starting again is safe.
        """
        if begun_operation(self.store, record, OperationPhase.RELEASE) is not None:
            return False
        plan = release_of(self.store, self.site, record.definition, seen)
        if plan.refused:
            for name, why in plan.refused.items():
                self.log.warning("%s is not submitted: %s.", name, why)
            self.store.fail_unsent(record.action_id, self.site, record.name, record.attempt, plan.refused)
        if not plan.release:
            return False
        operation = self.store.begin_operation(
            record.action_id,
            self.site,
            record.name,
            record.attempt,
            OperationPhase.RELEASE,
            plan.release,
            self.design_ref,
            {name: node.condition for name, node in seen.items()},
        )
        if not operation.nodes:
            return False
        for status in sorted({seen[name].status_name for name in operation.nodes}):
            those = [name for name in operation.nodes if seen[name].status_name == status]
            self.log.info("The node list says %s, and so they are released first: %s.", status, story.names(those))
        self.log.info(story.submission(operation.phase, operation))
        return self._finish(operation)

    def _finish(self, operation: Operation) -> bool | StillRunning:
        ended = self.operations.run(operation, self.times)
        if isinstance(ended, StillRunning):
            return ended
        record_end(self.store, operation.op, ended, self.log, "not released, and so not prepared: ")
        return True


def begun_operation(store: SiteStore, record: GroupRecord, phase: OperationPhase) -> Operation | None:
    """Return the operation of a group's present attempt for a phase; None before it was begun."""
    key = (record.attempt, phase)
    begun = store.operations(record.action_id, record.name)
    return next((operation for operation in begun if (operation.attempt, operation.phase) == key), None)


def releases_of(
    store: SiteStore, site: str, groups: Iterable[PlannedGroup], listed: Mapping[str, ListedNode]
) -> ReleasePlan:
    """Decide the same for all groups of a plan; the first group of a node decides."""
    released: set[str] = set()
    refused: dict[str, str] = {}
    considered: set[str] = set()
    for planned in groups:
        seen = {name: listed[name] for name in planned.nodes if name in listed and name not in considered}
        considered.update(seen)
        found = release_of(store, site, planned.group, seen)
        released.update(found.release)
        refused.update(found.refused)
    return ReleasePlan(tuple(sorted(released)), refused)


def release_of(store: SiteStore, site: str, group: Group, seen: Mapping[str, ListedNode]) -> ReleasePlan:
    """Decide which of a group's nodes are released, as the provisioner lists them; refusals name what helps."""
    stuck = {name: node for name, node in seen.items() if node.condition in REFUSED_BY_PREPARE}
    if not stuck:
        return ReleasePlan((), {})
    conditions = {name: node.condition for name, node in stuck.items()}
    plan = plan_release(conditions, store.left_undeployed(site, stuck), group.release_failed)
    command = "slipway create action redeploy_server --param target_nodes={} --site {}"
    refused = {
        name: f"the node list says {stuck[name].status_name}: {why}. `{command.format(name, site)}` releases it and "
        "deploys it"
        for name, why in plan.refused.items()
    }
    return replace(plan, refused=refused)
