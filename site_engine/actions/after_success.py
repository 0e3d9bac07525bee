"""What follows a deployment: whether the DAG that the site names is to come, and as which run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from site_engine.errors import StepError
from site_engine.kinds import KINDS
from site_engine.log_messages import failed_critical

if TYPE_CHECKING:
    from site_store import ActionRecord, SiteStore


@dataclass(frozen=True, slots=True)
class NextStage:
    """The run that comes next: its DAG, its id, which is always the same, and its parameters."""

    dag_id: str
    run_id: str
    conf: Mapping[str, Any]


def why_no_stage(action: ActionRecord, dag_id: str | None) -> str | None:
    """Return why nothing comes after an action, however it ends; None where something may."""
    if not dag_id:
        return "the site's deployment configuration names no DAG that comes after it"
    return f"dry run: {dag_id} is not triggered" if action.dry_run else None


def next_stage(
    store: SiteStore,
    action: ActionRecord,
    dag_id: str | None,
    step_states: Mapping[str, str | None],
    again: int = 0,
) -> NextStage | str:
    """Return the run that comes after an action's groups, or why none does, in a sentence.

    Parameters
    ----------
    dag_id : what the site's configuration names; None: nothing.
    step_states : Airflow's state of each step before it; groups have none here.
    again : differs each time that a person has the stage tried again: then it is another run.

    Raises
    ------
    StepError : the configuration names one of Slipway's own DAGs, which would follow itself for ever.
    """
    why = why_no_stage(action, dag_id)
    if dag_id is None or why is not None:
        return why or ""
    if dag_id in KINDS:
        raise StepError(f"after_success names {dag_id}, which is one of Slipway's own DAGs: name another one")
    failed = [step for step, state in step_states.items() if state == "failed"]
    if failed:
        return f"{dag_id} is not triggered: {', '.join(failed)} failed"
    groups = store.groups.of_action(action.id)
    if said := failed_critical(groups):
        return f"{dag_id} is not triggered: {said}"
    if not any(group.nodes for group in groups):
        return f"{dag_id} is not triggered: nothing was deployed"
    run_id = f"{action.site}__{action.id}" + (f"__again-{again}" if again else "")
    conf = {"site": action.site, "revision": action.revision, "action": action.id}
    return NextStage(dag_id, run_id, MappingProxyType(conf))
