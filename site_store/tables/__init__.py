"""The tables. How they come into being is `migrations/`; a test proves that the two agree."""

from __future__ import annotations

from site_store.tables.actions import (
    action,
    action_audit,
    action_report,
    action_step,
    group_node,
    group_run,
    operation,
    site_lock,
    task,
)
from site_store.tables.documents import (
    buffer,
    buffer_collection,
    candidate,
    content,
    document,
    revision,
    revision_collection,
    site,
)
from site_store.tables.events import check_result, delivery, event, lease, outbox
from site_store.tables.metadata import metadata
from site_store.tables.node_states import node_view, site_view, site_view_change, user_state
from site_store.tables.objects import design_object, node_error, object_use, site_audit
from site_store.tables.status import (
    STANDING,
    approval,
    node,
    owner,
    provisioner_call,
    provisioner_list,
    reported,
    reporter,
    site_group,
    site_group_node,
    status_count,
)

__all__ = [
    "STANDING",
    "action",
    "action_audit",
    "action_report",
    "action_step",
    "approval",
    "buffer",
    "buffer_collection",
    "candidate",
    "check_result",
    "content",
    "delivery",
    "design_object",
    "document",
    "event",
    "group_node",
    "group_run",
    "lease",
    "metadata",
    "node",
    "node_error",
    "node_view",
    "object_use",
    "operation",
    "outbox",
    "owner",
    "provisioner_call",
    "provisioner_list",
    "reported",
    "reporter",
    "revision",
    "revision_collection",
    "site",
    "site_audit",
    "site_group",
    "site_group_node",
    "site_lock",
    "site_view",
    "site_view_change",
    "status_count",
    "task",
    "user_state",
]
