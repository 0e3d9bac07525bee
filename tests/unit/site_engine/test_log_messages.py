"""What a node is told to be held by: which task, since when, and what helps."""

from __future__ import annotations

import pytest

from site_engine import log_messages
from site_store import Operation
from strategy_lib.phase import Phase
from tests.unit.site_engine.records import AT, operation


@pytest.mark.parametrize(
    ("held", "told"),
    [
        pytest.param(
            operation(provisioner_task="t-1", submitted=AT, running_since=AT),
            "provisioner task t-1 (prepare of group all, action 01J), which runs since 2026-11-21 23:10:05 UTC, ",
            id="it runs",
        ),
        pytest.param(
            operation(provisioner_task="t-1", submitted=AT),
            "provisioner task t-1 (prepare of group all, action 01J), which was submitted at 2026-11-21 23:10:05 UTC, ",
            id="it waits in the queue",
        ),
        pytest.param(
            operation(Phase.DESTROY, None, sending=AT),
            "a provisioner task (destroy_nodes, action 01J), which was sent at 2026-11-21 23:10:05 UTC, its answer was "
            "lost, and it may still take effect, ",
            id="its answer was lost",
        ),
    ],
)
def test_what_holds_a_node_is_named_with_what_helps(held: Operation, told: str) -> None:
    said = log_messages.held(held)
    assert said.startswith(f"held by {told}and was not seen to be over. What helps: wait until it is over")
    assert said.endswith("or create it with ignore_older_tasks")
    assert "None" not in log_messages.older_operation(held)
