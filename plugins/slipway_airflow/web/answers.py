"""What good answers of the API look like, for its description: each key, its type, and whether it may be missing."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

Digest = str
"""SHA-256 in hexadecimal digits."""
Moment = str
"""ISO 8601 with its zone."""
Change = Literal["added", "modified", "removed"]


class ApiVersion(TypedDict):
    path: str
    status: str


class DocumentName(TypedDict):
    schema: str
    name: str


class WorkingAction(TypedDict):
    """The action that a site is busy with."""

    id: str
    name: str
    state: str
    user: str


class Finding(TypedDict):
    """One thing that was found: Airship's validation message, and where it is."""

    message: str
    error: bool
    name: str
    documents: list[DocumentName]
    level: Literal["Error", "Warning", "Info"]
    diagnostic: str
    source: str
    kind: Literal["ValidationMessage"]
    text: NotRequired[str]
    collection: NotRequired[str | None]
    path: NotRequired[str]
    line: NotRequired[int | None]
    action: NotRequired[WorkingAction]


class Findings(TypedDict):
    """All that was found."""

    errorCount: int
    messageList: list[Finding]


class _Status(TypedDict):
    kind: Literal["Status"]
    apiVersion: Literal["v1.0"]
    metadata: dict[str, str]
    status: Literal["Success", "Failure"]
    message: str
    reason: str
    details: Findings
    code: str


class Buffer(TypedDict):
    """What is about to be committed."""

    version: int
    base_revision: int | None
    collections: list[str]
    discarded: list[str]


class Loaded(_Status):
    """A collection was put into the buffer."""

    site: str
    buffer: Buffer


class Judged(_Status):
    """Documents were judged, and not committed."""

    retry: bool


class Committed(Judged):
    """Documents were judged, and are a revision unless it was a dry run."""

    site: NotRequired[str]
    revision: NotRequired[int]
    digest: NotRequired[Digest]
    forced: NotRequired[bool]
    rollback_of: NotRequired[int | None]
    deployable: NotRequired[bool]
    intermediate_commits: NotRequired[list[int]]


class CollectionStatus(TypedDict):
    """A collection in two versions."""

    collection_name: str
    base_version: str
    base_revision: int | None
    new_version: str
    new_revision: int | None
    base_status: Literal["present", "not present"]
    new_status: Literal["unmodified", "modified", "created", "deleted"]


class CollectionDigest(TypedDict):
    """A collection of a revision."""

    name: str
    digest: Digest


class Revision(TypedDict):
    """A revision: where it came from, and what was overridden for it."""

    site: str
    revision: int
    digest: Digest
    created: Moment
    user: str
    base_revision: int | None
    rollback_of: int | None
    forced: bool
    problems: list[str]
    collections: list[CollectionDigest]
    versions: list[str]


class State(TypedDict):
    """One side of a comparison."""

    version: str | None
    revision: int | None


class ChangedCollection(TypedDict):
    """A collection that differs."""

    name: str
    change: Change


ChangedField = TypedDict(
    "ChangedField", {"path": str, "change": Change, "from": NotRequired[Any], "to": NotRequired[Any]}
)


class ChangedDocument(TypedDict):
    collection: str
    schema: str
    name: str
    layer: str | None
    change: Change | Literal["moved"]
    fields: list[ChangedField]
    moved_from: NotRequired[str]
    fields_left_out: NotRequired[int]


Differences = TypedDict(
    "Differences",
    {
        "site": str,
        "from": State,
        "to": State,
        "rendered": bool,
        "collections": list[ChangedCollection],
        "documents": list[ChangedDocument],
    },
)


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
    """A deployed node that an action would leave alone though it is not as wanted."""

    name: str
    reason: str


class ShownPreview(TypedDict):
    """What an action would do to nodes, by their names."""

    submitted: list[str]
    deployed: list[str]
    destroyed: list[str]
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


class MachineStatus(TypedDict):
    """What the provisioner says of a machine."""

    hostname: str
    status: str


class MachinePower(TypedDict):
    """Whether a machine is on, in the provisioner's words."""

    hostname: str
    power_state: str | None


class SiteStatuses(TypedDict):
    """Only what was asked for."""

    nodes_provision_status: NotRequired[list[MachineStatus]]
    machines_powerstate: NotRequired[list[MachinePower]]


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


class KeystoneError(TypedDict):
    """What went wrong, in Keystone's words."""

    code: int
    message: str
    title: str


class KeystoneErrorBody(TypedDict):
    """Every error below /v3."""

    error: KeystoneError


def answers(model: Any, example: Any, code: int = 200) -> dict[int | str, dict[str, Any]]:
    """Return a route's ``responses``: what the good answer looks like, with an example."""
    return {code: {"model": model, "content": {"application/json": {"example": example}}}}
