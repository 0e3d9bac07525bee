"""A process that is killed in the middle of a write has written nothing, and holds nobody up."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

from site_store import OperationStatus
from strategy_lib.phase import Phase
from tests.integration.site_store.scenario import SITE, Scenario, outcome
from tests.support.processes import tied

_BEGIN_AND_HANG = """
import sys, time
from site_store import SiteStore
from site_store.operations import claims
from strategy_lib.phase import Phase
real = claims.write_events
def hang(*args):
    # The operation is inserted and its nodes are claimed; nothing is committed.
    real(*args)
    print("claimed", flush=True)
    time.sleep(60)
claims.write_events = hang
url, action, nodes = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
asked = claims.Claim(action, "north", "a", 1, Phase.PREPARE, nodes, "file:///design")
SiteStore.open(url).operations.begin(asked)
"""


def test_rule_12_a_kill_in_the_middle_of_a_claim_leaves_nothing_claimed(url: str, site: Scenario) -> None:
    action, record = site.opened({"a": ["n1", "n2"]})
    process = subprocess.Popen(
        tied(sys.executable, "-c", _BEGIN_AND_HANG, url, action.id, "n1,n2"), stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "claimed\n"
        assert site.states(action) == {"n1": "not_started", "n2": "not_started"}
        assert site.store.operations.of_action(action.id) == []
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    began = time.monotonic()
    operation = site.begin(record, Phase.PREPARE)
    assert time.monotonic() - began < 25, "the lock went with the process"
    assert operation.nodes == ("n1", "n2")
    assert len(site.store.operations.of_action(action.id)) == 1


def test_rule_12_a_kill_after_the_intent_is_survived_by_the_next_process(site: Scenario) -> None:
    """The whole way of one operation, each step by a process that then dies."""
    action, record = site.opened({"a": ["n1"]})
    intended = site.begin(record, Phase.PREPARE)
    assert site.store.operations.acquire_lease(intended.op, "first", 30)
    # Died before or after the submission; nobody knows. The next one waits for the lease, then looks and submits.
    again = site.begin(site.open(action, "a"), Phase.PREPARE)
    assert (again.op, again.provisioner_task, again.status) == (intended.op, None, OperationStatus.INTENDED)
    assert not site.store.operations.acquire_lease(again.op, "second", 30)
    site.clock.move(30)
    assert site.store.operations.acquire_lease(again.op, "second", 30)
    site.store.operations.mark_submitted(again.op, "t1")
    # Died after the submission: the third one re-joins.
    third = site.begin(site.open(action, "a"), Phase.PREPARE)
    assert (third.op, third.provisioner_task) == (intended.op, "t1")
    site.record(third, outcome(["n1"]), status=OperationStatus.COMPLETE)
    # Died after the result: the fourth one finds the phase done.
    assert site.open(action, "a").phases_done == {Phase.PREPARE}
    assert site.store.operations.unfinished(SITE) == []
