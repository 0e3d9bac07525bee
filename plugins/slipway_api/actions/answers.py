"""What answers about actions, their steps and their DAG runs look like, for the API's description."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

from slipway_api.http.answers import Finding, Moment


class Note(TypedDict):
    """A note, in Shipyard's shape."""

    assoc_id: str
    subject: str
    sub_type: str
    note_val: str
    verbosity: int
    note_id: str
    note_timestamp: Moment | None
    resolved_url_value: str | None


class ListedStep(TypedDict):
    """A step of an action."""

    url: str
    state: str | None
    id: str
    index: int
    notes: list[Note]


class _Action(TypedDict):
    id: str
    name: str
    parameters: dict[str, Any]
    dag_id: str
    dag_execution_date: Moment
    user: str
    datetime: Moment
    timestamp: Moment
    context_marker: str | None
    committed_rev_id: int | None
    allow_intermediate_commits: bool
    action_lifecycle: Literal["Pending", "Processing", "Paused", "Complete", "Failed"]
    run_id: str
    site: str
    revision: int | None
    state: Literal["pending", "running", "success", "failed", "cancelled"]
    verdict: str | None
    started: Moment | None
    ended: Moment | None
    paused: Moment | None
    dag_status: str
    steps: list[ListedStep]
    notes: list[Note]


class CreatedAction(_Action):
    """An action that was just created."""

    warnings: list[Finding]


class WithheldNode(TypedDict):
    """A node that an action would leave alone though it is not as wanted."""

    name: str
    reason: str


class ShownPreview(TypedDict):
    """What an action would do to nodes, by their names."""

    submitted: list[str]
    deployed: list[str]
    destroyed: list[str]
    released: list[str]
    refused: list[WithheldNode]
    as_wanted: list[str]
    withheld: list[WithheldNode]
    failing: list[str]


class PreviewedAction(TypedDict):
    """An action that is not created; without a preview where the provisioner does not list its nodes."""

    name: str
    site: str
    revision: int
    preview: ShownPreview | None
    notes: list[Finding]


class ListedGroup(TypedDict):
    """A group, in a list of actions."""

    name: str
    state: str


class ListedAction(_Action):
    """An action, in a list."""

    groups: list[ListedGroup]


class Criterion(TypedDict):
    """A criterion and how it was met."""

    phase: str
    criterion: str
    needed: int
    actual: int | str
    met: bool


class ShownGroup(TypedDict):
    """A group of an action, with node counts and criteria."""

    name: str
    critical: bool
    depends_on: list[str]
    state: str
    reason: str | None
    phase: str | None
    attempt: int
    counts: dict[str, int]
    criteria: list[Criterion]
    started: Moment | None
    ended: Moment | None


class ShownNode(TypedDict):
    """A node of an action."""

    name: str
    state: str
    groups: list[str]
    message: str | None


class Command(TypedDict):
    """A command that was given to an action."""

    id: str
    action_id: str
    command: str
    user: str
    datetime: Moment


class DescribedAction(_Action):
    """An action with all its details."""

    validations: list[dict[str, Any]]
    command_audit: list[Command]
    groups: list[ShownGroup]
    nodes: list[ShownNode]


class Step(TypedDict):
    """A step, as Airflow knows its task."""

    task_id: str
    dag_id: str
    dag_run_id: str
    map_index: int
    state: str | None
    index: int | None
    scheduled_when: Moment | None
    queued_when: Moment | None
    start_date: Moment | None
    end_date: Moment | None
    duration: float | None
    try_number: int | None
    max_tries: int | None
    operator: str | None
    hostname: str | None
    notes: list[Note]


class Workflow(TypedDict):
    """A DAG run, in Shipyard's shape."""

    workflow_id: str
    id: str
    dag_id: str
    run_id: str
    state: str
    execution_date: Moment
    start_date: Moment | None
    end_date: Moment | None
    external_trigger: bool
    conf: dict[str, Any] | None


class DescribedWorkflow(Workflow):
    """A DAG run with its steps, which are Airflow's task instances."""

    sub_dags: list[dict[str, Any]]
    steps: list[dict[str, Any]]


class RunAction(TypedDict):
    """The action of a DAG run."""

    id: str
    kind: str
    site: str
    revision: int | None
    parameters: dict[str, Any]
    dag_id: str
    run_id: str
    user: str
    state: str
    verdict: str | None
    step: str | None
    paused: Moment | None
    created: Moment
    started: Moment | None
    ended: Moment | None


class Run(TypedDict):
    """The action of a DAG run with its groups, and its report once there is one."""

    action: RunAction
    groups: list[ShownGroup]
    report: dict[str, Any] | None
    report_text: str | None
