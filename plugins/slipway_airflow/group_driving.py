"""Drive one group as far as it goes now: in the process of its task, or in the triggerer (rules 8 and 23)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from provisioner_client.node_agent.request import SiteAsker, read_site_key
from site_engine.errors import StepError
from site_engine.groups.attempt import GroupRequest, GroupSubject, StillBeside
from site_engine.kinds import Override
from site_engine.operations.readiness import ReadyRun, StillAsking
from site_engine.operations.resume import Subject, SubjectDriver
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import PhaseTimes, StillRunning
from site_engine.parameters import parameters_of
from site_engine.provisioners import ConnectionSettings, ProvisionerConnection
from site_store import ActionRecord, ApprovalRecord, GroupRecord, GroupTurn
from strategy_lib.phase import SUBMITTED_PHASES, Phase
from strategy_lib.settings import SettingError

# How the design's settings call the times of a phase.
_SETTINGS = {
    Phase.VERIFY_SITE: "verify",
    Phase.PREPARE_SITE: "prepare_site",
    Phase.PREPARE: "prepare_node",
    Phase.DEPLOY: "deploy",
    Phase.RELEASE: "destroy",
    Phase.DESTROY: "destroy",
    Phase.RELABEL: "relabel_nodes",
}

Driven = GroupRecord | ApprovalRecord | StillRunning | StillAsking | StillBeside
"""How far a group has come: its verdict, or what it waits for."""


@dataclass(frozen=True, slots=True)
class GroupTask:
    """What the task of a group knows beside the store.

    Parameters
    ----------
    group : the group's name.
    attempt_key : tells a retry by Airflow (same key) from a person's clear (another key), rule 23.
    configuration : the design's settings.
    """

    group: str
    attempt_key: str
    configuration: Mapping[str, Any]


def drive_group(
    operations: OperationRun,
    connection: ProvisionerConnection,
    action: ActionRecord,
    task: GroupTask,
    design_ref: str,
    may_begin: Callable[[Sequence[GroupTurn]], bool] | None,
    *,
    patience_for_nodes: float,
    takes_over: bool = True,
) -> Driven:
    """Go on with a group from wherever the store says, until its verdict, or until it has to wait.

    Parameters
    ----------
    operations : carries out what is due; its patience is how long it waits here.
    design_ref : where the provisioner reads the design.
    may_begin : says where groups run side by side whether this one may take a place; None: they do not.
    patience_for_nodes : seconds to ask nodes here whether they are ready (rule 58).
    takes_over : whether it goes on with an attempt that is open under another key.

    Raises
    ------
    site_store.PlaceTaken : others are at work: it may not begin now.
    site_store.StoreError : another process goes on with it.
    StepError : nodes are to be asked, and cannot be; nothing was submitted.
    provisioner_client.errors.ProvisionerError : the provisioner could not be reached or refused; start again.
    """
    store, parameters = operations.store, parameters_of(action)
    settings = connection.settings
    # A provisioner that does one task at a time has those of the other groups wait in its queue.
    settings = replace(settings, queue_timeout=settings.queue_timeout * parameters.places)
    configuration = task.configuration
    request = GroupRequest(
        action_id=action.id,
        site=action.site,
        group=task.group,
        attempt_key=task.attempt_key,
        design_ref=design_ref,
        times={phase: phase_times(phase, configuration, settings) for phase in SUBMITTED_PHASES},
        release_times=phase_times(Phase.RELEASE, configuration, settings),
        redo_done=parameters.allows(Override.REDO_DONE),
        ignore_older_tasks=parameters.allows(Override.IGNORE_OLDER_TASKS),
        below_criteria=parameters.allows(Override.BELOW_CRITERIA),
        kind=action.kind,
        may_begin=may_begin,
        takes_over=takes_over,
    )
    subject: Subject[GroupRecord | ApprovalRecord | StillBeside] = GroupSubject(operations, request)
    if store.groups.get(action.id, task.group).definition.ready is not None:
        _require_key(action.site, task.group)
    ask = SiteAsker(os.environ, operations.lease_owner)
    ready = ReadyRun(store, ask, operations.clock, patience_for_nodes, operations.log, operations.stopping)
    return SubjectDriver(operations, ready).run(subject)


def _require_key(site: str, group: str) -> None:
    """Make sure that nodes can be asked, before anything is submitted. Raises `StepError`: they cannot."""
    try:
        read_site_key(os.environ, site)
    except SettingError as error:
        raise StepError(f"group {group} is to be ready, and its nodes cannot be asked from Airflow: {error}") from error


def phase_times(phase: Phase, configuration: Mapping[str, Any], settings: ConnectionSettings) -> PhaseTimes:
    """Return interval and timeout of a phase from the design's settings; the connection has the longest interval."""
    interval, timeout = (float(configuration[f"{_SETTINGS[phase]}_{name}"]) for name in ("interval", "timeout"))
    return PhaseTimes(min(interval, settings.poll_interval), timeout, settings.queue_timeout)
