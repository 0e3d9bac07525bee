"""The tables, their columns' types, and conditions on their rows that rules of the domain stand for.

How tables come into being is `migrations/`; a test proves that the two agree. Whole statements belong to the package of
their noun.
"""

from __future__ import annotations

from site_store.tables.actions import (
    action,
    action_audit,
    action_report,
    action_step,
    group_node,
    group_run,
    node_question,
    operation,
    site_lock,
    task,
    task_trouble,
)
from site_store.tables.documents import (
    buffer,
    buffer_collection,
    candidate,
    content,
    design_object,
    document,
    node_error,
    revision,
    revision_collection,
    site,
    site_audit,
    site_stop,
)
from site_store.tables.events import check_result, delivery, event, lease, outbox, store_state
from site_store.tables.metadata import metadata
from site_store.tables.node_states import (
    is_not_up,
    node_drift,
    node_trouble,
    node_view,
    repair,
    repair_switch,
    site_view,
    site_view_change,
    user_state,
)
from site_store.tables.status import (
    MEMBER,
    approval,
    is_of_wanted,
    node,
    owner,
    process,
    provisioner_call,
    provisioner_list,
    reported,
    reporter,
    shared_list,
    site_group,
    site_group_node,
    site_trouble,
    status_count,
)
