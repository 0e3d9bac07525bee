"""What is known, and since when: the only code that knows SQL.

Here belong tables, transactions, one repository for each noun, and the queries behind what people read.
What follows from it (which node is next, how an action ends) is decided in `strategy_lib` and `site_engine`.
No HTTP, no Airflow, and no clock but the database's.
"""

from site_store.actions.action_rows import NewAction
from site_store.actions.site_locks import SiteBusy
from site_store.designs.buffers import (
    BufferChanged,
    BufferEmpty,
    BufferNotEmpty,
    CollectionUnchanged,
    DocumentElsewhere,
)
from site_store.designs.contents import (
    BufferMode,
    BufferRecord,
    CollectionRecord,
    RevisionNotFound,
    RevisionRecord,
    RevisionSecrets,
    Version,
)
from site_store.designs.objects import CommittedObjects
from site_store.designs.revisions import NewRevision
from site_store.groups.groups import PlaceTaken
from site_store.groups.plans import NewPlan
from site_store.groups.reports import ReportInput
from site_store.node_table.node_facts import NodePast, NodePastFacts, NodeQuery
from site_store.nodes.goals import GroupGoal, SiteGoals
from site_store.nodes.user_states import AskedState
from site_store.operations.claims import Claim, SiteStateChanged
from site_store.operations.node_tasks import NodeTasks, Readiness, TaskRecord
from site_store.records import (
    ActionListing,
    ActionRecord,
    ActionState,
    EventRecord,
    GroupRecord,
    GroupStanding,
    GroupTurn,
    IdleGroup,
    Lease,
    LockOwner,
    Operation,
    OperationStatus,
    PlannedGroup,
    StepRecord,
    StepState,
)
from site_store.sql.errors import (
    NotFound,
    SchemaNotCurrent,
    StoreError,
    StoreNotConfigured,
    StoreUnavailable,
    SubmissionsHeld,
    ValueRefused,
    VersionChanged,
)
from site_store.sql.rows import LONGEST_NAME
from site_store.sql.sealing import KeyMissing, NoKey
from site_store.status.leases import CheckRecord, LeaseLost
from site_store.status.object_changes import ObjectChange, changes_of
from site_store.status.processes import ProcessNote, ProcessRecord, Role, ServerFacts
from site_store.status.reporters import NewLeaf, ReporterRefused, TooManyReports
from site_store.status.status_records import (
    ApprovalAnswer,
    ApprovalRecord,
    CallCount,
    CallKey,
    ExpectedWork,
    OutboxRecord,
    OwnerCheckIn,
    ProvisionerListRecord,
    ReportedLeaf,
    SharedListRecord,
    StatusCount,
)
from site_store.store import SiteStore
from site_store.trees.tree_facts import ActionBrief, ActionFacts, GroupFacts, LeafFacts, SiteFacts, StepFacts
