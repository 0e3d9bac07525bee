"""What a group sends next once its nodes are prepared (rules 39, 40 and 44): waves, retries, batches of a redeploy.

Groups whose nodes go in batches are in `batches.py`.
"""

from __future__ import annotations

from strategy_lib.groups.group_plan import NO_PLAN
from strategy_lib.groups.group_run import (
    GroupRun,
    Known,
    find_submittable,
    may_be_taken,
    nodes_to_ask,
    prepare_again,
    prepared_nodes,
)
from strategy_lib.groups.rolling import first_to_go, needed_by_batch, new_redeploy_batch
from strategy_lib.phase import Phase, Step


def next_due(run: GroupRun, known: Known) -> Step | None:
    """Return what a group sends next whose prepare criteria are met; None: nothing more, and it is judged.

    First what is prepared and waits for nothing; then batches that were begun, and failed nodes again; then whether
    those that were deployed are ready (rule 58); then the next batch. It keeps with the run which nodes are held, and
    which stay as they are.
    """
    asked = nodes_to_ask(run, known)
    prepared = prepared_nodes(run, known)
    again = prepare_again(run, known)
    if run.plan == NO_PLAN:
        ready = prepared
    else:
        waiting = frozenset(name for name in run.nodes if may_be_taken(run, known, name))
        # Others that wait for a node wait until it is ready.
        candidates = waiting.union(prepared, again, asked)
        found = find_submittable(run, known, candidates)
        run.held = {name: why for name, why in found.held.items() if name not in asked}
        run.waiting = found.waiting
        ready = tuple(name for name in prepared if name in found.ready)
        again = tuple(name for name in again if name not in found.held)
    if ready:
        return run.step(Phase.DEPLOY, ready)
    needed = needed_by_batch(run, known, again) if run.plan.redeploy else frozenset()
    if needed:
        return run.step(Phase.RELEASE, first_to_go(run, needed))
    if again:
        return run.step(Phase.PREPARE, again)
    if asked:
        return run.step(Phase.READY, asked)
    if run.plan.redeploy:
        kept = run.kept
        batch = new_redeploy_batch(run, known)
        if batch:
            return run.step(Phase.RELEASE, first_to_go(run, batch))
        if run.kept is not kept:
            # What waits for the nodes that stay as they are is held now.
            return next_due(run, known)
    return None
