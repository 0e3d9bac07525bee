"""The kinds of actions, one row each, and the steps that they are made of.

DAGs, the store's facts, reports, the REST API and the command line all read these tables, by the functions below. A new
kind is one row here and one DAG file; a new step also has a row in `slipway_airflow.site_dag`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol, TypeVar

from strategy_lib.phase import NODE_STEPS, Phase

DEPLOY_GROUP = "deploy_group"
DEPLOY_GROUP_BESIDE = "deploy_group_beside"
"""Airflow's task of the step `deploy_group` where groups run side by side: one limit of a task holds for all runs."""
REPORT = "report"
RELEASE = "release"
PLAN_GROUPS = "plan_groups"
AFTER_SUCCESS = "after_success"
BEGIN_ACTION = "begin_action"
"""Airflow's task of the steps that take the site, and read and check the design."""
SITE_STEPS = "site_steps"
"""Airflow's task of the steps that the provisioner carries out for the whole site."""
VERDICT = "verdict"
"""A task of each DAG that is no step: it runs nothing, and is green only behind a green report."""
STEP_FAILED = "step_failed"
"""The kind of the event that says that a step has failed."""
STEP_WARNING = "step_warning"
"""The kind of the event that says that a step succeeded with a warning."""


class _Row(Protocol):
    @property
    def name(self) -> str: ...


Row = TypeVar("Row", bound=_Row)


def table(what: str, rows: Iterable[Row]) -> Mapping[str, Row]:
    """Return rows by their names, in order; the result cannot be changed.

    Parameters
    ----------
    what : what a row is, for the error.

    Raises
    ------
    ValueError : two rows have one name; the error shows both.
    """
    found: dict[str, Row] = {}
    for row in rows:
        if row.name in found:
            raise ValueError(f"the {what} {row.name!r} is registered twice: {found[row.name]} and {row}")
        found[row.name] = row
    return MappingProxyType(found)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an action. A task of its DAG carries it out: one of its own that has its name, or ``shared_task``.

    ``submits`` says that it has the provisioner work on site or nodes, so that a dry run skips it.
    """

    name: str
    submits: bool = False
    shared_task: str | None = None


STEPS = table(
    "step",
    (
        Step("acquire", shared_task=BEGIN_ACTION),
        Step("load_design", shared_task=BEGIN_ACTION),
        Step("validate_design", shared_task=BEGIN_ACTION),
        Step(Phase.VERIFY_SITE.value, submits=True, shared_task=SITE_STEPS),
        Step(Phase.PREPARE_SITE.value, submits=True, shared_task=SITE_STEPS),
        *(Step(step.value, submits=True) for step in NODE_STEPS),
        Step(PLAN_GROUPS),
        Step(DEPLOY_GROUP, submits=True),
        Step(AFTER_SUCCESS, submits=True),
        Step(REPORT),
        Step(RELEASE),
    ),
)


def task_of(step: str) -> str:
    """Return the task of a DAG that carries a step out; for what is no step of ours the name itself."""
    known = STEPS.get(step)
    return (known.shared_task if known is not None else None) or step


def tasks_of(steps: Iterable[str]) -> tuple[str, ...]:
    """Return the tasks of a DAG that carry steps out, each once, in order."""
    return tuple(dict.fromkeys(task_of(step) for step in steps))


def states_of_steps(
    steps: Iterable[str], tasks: Mapping[str, str | None], noted: Mapping[str, str]
) -> dict[str, str | None]:
    """Return how steps stand, in Airflow's words: as their tasks do.

    Where several share a task that is not over well, what is noted as done is done; the first of the others stands as
    the task does, and those behind it have not begun.

    Parameters
    ----------
    tasks : Airflow's state of each task.
    noted : what each step has noted of itself (`site_store.StepState`).
    """
    names = tuple(steps)
    states = {step: tasks.get(task_of(step)) for step in names}
    for task in {task_of(step) for step in names if task_of(step) != step}:
        if tasks.get(task) not in _AS_ONE:
            shared = [step for step in names if task_of(step) == task]
            done = next((at for at, step in enumerate(shared) if noted.get(step) not in _DONE), len(shared) - 1)
            behind = "upstream_failed" if tasks[task] == "failed" else None
            states |= {step: str(noted[step]) for step in shared[:done]} | dict.fromkeys(shared[done + 1 :], behind)
    return states


_DONE = ("success", "skipped")
# States that all steps of a task share.
_AS_ONE = (None, "success", "skipped", "upstream_failed", "removed")


class Override(StrEnum):
    """What an action may be told to do all the same; ``force`` stands for all that its kind has, but `BY_NAME_ALONE`.

    A commit has a ``force`` of its own, which is none of these.
    """

    REDO_DONE = "redo_done"
    IGNORE_OLDER_TASKS = "ignore_older_tasks"
    BELOW_CRITERIA = "below_criteria"
    ALLOW_REDEPLOY = "allow_redeploy"
    MANY_REDEPLOYS = "many_redeploys"
    PRUNE = "prune"

    @property
    def description(self) -> str:
        """What it does, in a sentence."""
        return _OVERRIDES[self]


_OVERRIDES = {
    Override.REDO_DONE: "Submit also nodes that are deployed already, as wanted or not.",
    Override.IGNORE_OLDER_TASKS: "Submit also nodes that an older provisioner task still holds.",
    Override.BELOW_CRITERIA: "Take critical groups below their criteria.",
    Override.ALLOW_REDEPLOY: "Destroy, prepare and deploy nodes that are deployed in another design, in batches.",
    Override.MANY_REDEPLOYS: "Take down more of the site's deployed nodes than its settings allow.",
    Override.PRUNE: "Destroy the nodes that are no longer in the design, after the groups.",
}

BY_NAME_ALONE = frozenset({Override.ALLOW_REDEPLOY, Override.MANY_REDEPLOYS, Override.PRUNE})
"""Overrides that `force` does not stand for: they destroy what serves."""


@dataclass(frozen=True, slots=True)
class ActionKind:
    """A kind of action. Its name is also that of its DAG.

    Attributes
    ----------
    description : what it does, in a sentence.
    steps : its steps before the groups, or up to the step on nodes where it has no groups, in order. Steps that share
        a task stand together.
    targeted : it concerns named nodes, and is refused without.
    whole_site : without named nodes it brings the whole site to its revision.
    repairs : it does its target nodes in the groups that they are in, beside those nodes that are as wanted.
    passes_over : it brings about the difference to its revision, and asks about no revision in between (rule 37).
    overrides : those that mean something for it.

    Raises
    ------
    ValueError : a step is named twice.
    ValueError : there is no such step (`STEPS`).
    """

    name: str
    description: str
    steps: tuple[str, ...]
    targeted: bool = False
    whole_site: bool = False
    repairs: bool = False
    passes_over: bool = False
    overrides: tuple[Override, ...] = (Override.IGNORE_OLDER_TASKS,)

    def __post_init__(self) -> None:
        unknown = [step for step in self.steps if step not in STEPS]
        if unknown:
            raise ValueError(f"the kind of action {self.name!r} has steps that do not exist: {', '.join(unknown)}")
        table(f"step of {self.name}", (STEPS[step] for step in self.all_steps))

    @property
    def node_step(self) -> Phase | None:
        """Its step on named nodes, None for the kinds without."""
        return next((step for step in NODE_STEPS if self.targeted and step.value in self.steps), None)

    @property
    def relabels(self) -> bool:
        """Whether it gives new labels in place, before its groups, to the nodes that its plan finds."""
        return not self.targeted and Phase.RELABEL.value in self.steps

    @property
    def prunes(self) -> bool:
        """Whether it destroys, after its groups, the nodes that left the design, where it is asked to."""
        return Override.PRUNE in self.overrides

    @property
    def found_steps(self) -> tuple[Phase, ...]:
        """Its steps on nodes that nobody names: its plan finds them."""
        return (*((Phase.RELABEL,) if self.relabels else ()), *((Phase.DESTROY,) if self.prunes else ()))

    @property
    def node_steps(self) -> tuple[Phase, ...]:
        """Its steps on nodes, named or found."""
        return (*((self.node_step,) if self.node_step is not None else ()), *self.found_steps)

    @property
    def is_destructive(self) -> bool:
        """Whether it erases its target nodes, deployed ones too. Deploying leaves deployed nodes alone."""
        return self.node_step is Phase.DESTROY

    @property
    def has_groups(self) -> bool:
        """Whether it deploys groups; the others only carry out their step on nodes."""
        return PLAN_GROUPS in self.steps

    @property
    def has_parallel_groups(self) -> bool:
        """Whether its groups can run side by side; named nodes that are destroyed first are one group."""
        return self.has_groups and self.node_step is None

    @property
    def steps_behind(self) -> tuple[str, ...]:
        """The steps between its groups and its report: removals, and what the site may name to come at the end."""
        removal = (Phase.DESTROY.value,) if self.prunes else ()
        return (*removal, AFTER_SUCCESS) if self.has_groups and self.whole_site else ()

    @property
    def all_steps(self) -> tuple[str, ...]:
        """All its steps, in order."""
        return (*self.steps, *((DEPLOY_GROUP,) if self.has_groups else ()), *self.steps_behind, REPORT, RELEASE)

    @property
    def planned_steps(self) -> Mapping[str, int]:
        """The steps that are known before the groups are, each with its place."""
        return {step: place for place, step in enumerate(self.all_steps) if step != DEPLOY_GROUP}

    @property
    def group_step(self) -> tuple[str, int]:
        """The step of each group, with its place. Raises `ValueError`: the kind deploys no groups."""
        return DEPLOY_GROUP, self.all_steps.index(DEPLOY_GROUP)


_BEGIN = ("acquire", "load_design", "validate_design")
_SITE = (Phase.VERIFY_SITE.value, Phase.PREPARE_SITE.value)
# The plan comes first: where it finds nothing to do, the site need not be made ready again.
_DEPLOYMENT = (*_BEGIN, PLAN_GROUPS, *_SITE)

_OF_A_SITE = (
    Override.REDO_DONE,
    Override.IGNORE_OLDER_TASKS,
    Override.ALLOW_REDEPLOY,
    Override.MANY_REDEPLOYS,
    Override.BELOW_CRITERIA,
)

KINDS = table(
    "kind of action",
    (
        ActionKind(
            "deploy_site",
            "Deploy a site of baremetal servers, group by group.",
            _DEPLOYMENT,
            whole_site=True,
            overrides=_OF_A_SITE,
        ),
        ActionKind(
            "update_site",
            "Deploy the nodes of a site that are new, or no longer as they were left, group by group.",
            (*_BEGIN, Phase.RELABEL.value, PLAN_GROUPS, *_SITE),
            whole_site=True,
            passes_over=True,
            overrides=(*_OF_A_SITE, Override.PRUNE),
        ),
        ActionKind(
            "redeploy_server",
            "Destroy servers and deploy them anew.",
            # What can fail without harm comes before the first node is touched.
            (*_BEGIN, *_SITE, Phase.DESTROY.value, PLAN_GROUPS),
            targeted=True,
            overrides=(Override.IGNORE_OLDER_TASKS, Override.BELOW_CRITERIA),
        ),
        ActionKind(
            "repair_site",
            "Deploy servers that drifted or failed anew, within their groups.",
            _DEPLOYMENT,
            targeted=True,
            repairs=True,
            overrides=(
                Override.IGNORE_OLDER_TASKS,
                Override.ALLOW_REDEPLOY,
                Override.MANY_REDEPLOYS,
                Override.BELOW_CRITERIA,
            ),
        ),
        ActionKind(
            "relabel_nodes",
            "Give deployed servers the Kubernetes labels of the design.",
            (*_BEGIN, _SITE[0], Phase.RELABEL.value),
            targeted=True,
        ),
        ActionKind(
            "destroy_nodes",
            "Destroy servers: release their machines and erase their disks.",
            (*_BEGIN, _SITE[0], Phase.DESTROY.value),
            targeted=True,
            overrides=(Override.IGNORE_OLDER_TASKS, Override.BELOW_CRITERIA),
        ),
    ),
)


def kind_of(name: str) -> ActionKind:
    """Return the kind of an action that exists; of one that another version has made, the steps of `deploy_site`."""
    return KINDS.get(name) or replace(KINDS["deploy_site"], name=name)
