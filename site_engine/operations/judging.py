"""Judge the nodes of a stored operation by what its provisioner tells of them, and whether its task is dead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from provisioner_client.designs import DesignSource
from provisioner_client.protocol import Provisioner
from site_engine.provisioners import handle_in, opening_address
from site_store import Operation, SiteStore
from strategy_lib.node_condition import LISTED_TWICE, NodeCondition
from strategy_lib.outcome import Evidence, Outcome, judge, listed_at_work
from strategy_lib.phase import Phase


def outcome_of(store: SiteStore, operation: Operation, evidence: Evidence) -> Outcome:
    """Judge the operation's nodes; a node list that says what it said right before it was submitted proves nothing."""
    before = {name: NodeCondition(said) for name, said in store.tasks.found_before(operation.op).items()}
    as_wanted = store.tasks.as_wanted_before(operation.op) if operation.phase is Phase.DEPLOY else frozenset()
    twice = frozenset(name for name, said in before.items() if said is NodeCondition.LISTED_TWICE)
    # The list of then was kept.
    rows = store.nodes.of_site(operation.site) if twice else ()
    words = {
        one.name: one.provisioner_status
        for one in rows
        if one.name in twice and one.provisioner_status and one.provisioner_status.startswith(LISTED_TWICE)
    }
    known = replace(evidence, condition_before=before, status_names_before=words, as_wanted_before=as_wanted)
    return judge(operation.phase, operation.nodes, known)


def nodes_at_work(store: SiteStore, operation: Operation, evidence: Evidence) -> frozenset[str]:
    """Return the nodes of which nothing is proven yet, and which the list shows at work: they are looked at again.

    The store is asked only where the list shows any so. What was settled before stays so, whatever is done to it now.
    """
    if not listed_at_work(operation.phase, operation.nodes, evidence):
        return frozenset()
    awaited = outcome_of(store, operation, evidence).awaited
    return awaited & store.tasks.unsettled(operation.op) if awaited else awaited


def design_source(store: SiteStore, operation: Operation) -> DesignSource:
    """Return where a provisioner gets an operation's design. Its documents are read only if they are asked for."""
    address = opening_address(operation.design_ref, store.secret_texts.token_of)
    return DesignSource(address, partial(_text, store, operation))


def _text(store: SiteStore, operation: Operation) -> str:
    """Return the documents of an operation's design, for a provisioner that does not fetch them.

    What is removed from a site is not in the design of its action.
    """
    action = store.actions.get(operation.action_id)
    number = store.revisions.number_of_handle(action.site, handle_in(operation.design_ref))
    text = store.revisions.get(action.site, number or action.revision).text
    if text is None:
        raise LookupError(f"the revision of operation {operation.op} has no design")
    return text


WHILE_HELD = timedelta(seconds=60)
"""Between two death checks of a task whose nodes another task waits for."""

WHILE_OWN = timedelta(minutes=5)
"""Before the first death check of one's own running task, and between two: it is most likely alive.

It is checked at once when a newer operation is seen to run over the same connection.
"""

# Death checks may take one part in so many of the time: each makes the provisioner read all its tasks.
_SHARE = 20


@dataclass
class DeathWatch:
    """Checks now and then whether one task is dead. Each check makes the provisioner read all its tasks.

    Parameters
    ----------
    provisioner, now : who is asked, and the time.
    not_before : not asked before then; it moves with each answer.
    every : at most so often; less often where the answer takes long.
    """

    provisioner: Provisioner
    now: Callable[[], datetime]
    not_before: datetime
    every: timedelta

    def says_dead(self, task_id: str, *, overtaken: bool = False) -> bool:
        """Whether the task, which is said to run, is certainly dead. False also when it is too early to ask.

        Parameters
        ----------
        task_id : the task.
        overtaken : the provisioner has begun a newer one since it answered last: it is asked now.

        Raises `provisioner_client.errors.ProvisionerError`: there was no answer.
        """
        asked = self.now()
        if asked < self.not_before and not overtaken:
            return False
        try:
            # What anybody was told since it was begun tells as much, and the provisioner is spared.
            age = 0.0 if overtaken else min(self.every, WHILE_HELD).total_seconds() / 2
            return self.provisioner.is_dead(task_id, age=age)
        finally:
            answered = self.now()
            self.not_before = answered + max(self.every, _SHARE * (answered - asked))
