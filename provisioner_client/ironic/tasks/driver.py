"""Does what is due of a task, node by node: after a look at each, never twice, never on a stranger's.

Right before each change of state the node gets a mark, in one request with the claim of a deploy. Any process may go on
with what stands there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from provisioner_client.errors import AuthenticationFailed, ProvisionerError, ProvisionerRefused
from provisioner_client.ironic.api import IronicApi
from provisioner_client.ironic.deploy_info import configdrive_of, instance_info_of, kept_by_rebuild, rebuild_of
from provisioner_client.ironic.inventory import labels_data
from provisioner_client.ironic.node import CLEAN_FAILURE, LABELS, MARK, REBUILD, Mark, Node, claim_of, read_time
from provisioner_client.ironic.tasks.next_step import (
    NOTHING_ON_IT,
    TRANSIENT,
    Act,
    NextStep,
    is_changed,
    is_release,
    is_taken_back,
    is_told,
    next_step,
    own_mark,
)
from provisioner_client.ironic.tasks.work import TaskSettings, Work
from provisioner_client.piecewise.doubts import Doubts, said_of
from strategy_lib.phase import Phase

log = logging.getLogger(__name__)

FRESH: Final = 10.0
"""Seconds for which a look at a node counts: when its turn comes later, somebody else may have it."""
_VERBS: Final[Mapping[str, str]] = {"active": "deploy", "deleted": "release"}


class Driver:
    """Acts on the nodes of tasks.

    Parameters
    ----------
    api, settings : of the site.
    now : seconds since any moment.
    """

    def __init__(self, api: IronicApi, settings: TaskSettings, now: Callable[[], float]) -> None:
        self._api, self.settings, self.now = api, settings, now
        self._doubts = Doubts(settings.settle, now)
        # For these this client knows that what their marks say was not sent, or was refused.
        self._untaken: set[tuple[str, str]] = set()

    def step(self, phase: Phase, node: Node | None, reference: str) -> NextStep:
        """Say what is due for a node."""
        return next_step(phase, node, reference, inspect=self.settings.inspect)

    def places(self, listed: Iterable[Node]) -> int:
        """Return how many nodes may be sent on their way, by the list of the site's nodes."""
        busy = sum(node.state in TRANSIENT and node.mark is not None for node in listed)
        return max(0, self.settings.parallel - busy)

    def waits(self, phase: Phase, node: Node, reference: str) -> str:
        """Say what a node waits for that is not over; "": for nothing but its own change of state."""
        step, mark = self.step(phase, node, reference), own_mark(node, reference)
        if step.act is Act.WAIT:
            return "" if mark is not None and mark.step and is_changed(node, mark) else step.why
        if step.act is not Act.SEND:
            return ""
        doubt = self._doubts.of(reference, node.name)
        if doubt is not None and not self._may_send(node, mark, step.target):
            return f"{doubt.said}; it is looked at until that can take no effect any more"
        return f"{node.name} waits for its turn: at most {self.settings.parallel} nodes are on their way at once"

    def is_settled(self, mark: Mark) -> bool:
        """Whether what a mark says was sent so long ago that it can take no effect any more."""
        at = read_time(mark.at)
        return at is None or (self._clock() - at).total_seconds() >= self.settings.settle

    def advance(self, work: Work, nodes: Iterable[Node]) -> None:
        """Do what is due for nodes that were just read. Raises `ProvisionerError`: Ironic could not be asked."""
        work.looked_at = self.now()
        for known in nodes:
            node = self.current(work, known)
            if node is not None:
                self.carry_out(work, node)

    def current(self, work: Work, node: Node) -> Node | None:
        """Return a node as it is now: read again where that was some time ago. None: it is gone."""
        return node if self.now() - work.looked_at <= FRESH else self._api.node(node.uuid)

    def carry_out(self, work: Work, node: Node, *, is_new: bool = False) -> bool:
        """Do what is due for one node; return whether it has the task's mark now, as far as is known.

        Parameters
        ----------
        is_new : it has no mark of the task yet. One that must not be touched gets none.
        """
        step, mark = self.step(work.phase, node, work.reference), own_mark(node, work.reference)
        if is_new and not self.is_free(node):
            return False
        if is_new and step.act is Act.SEND and work.phase is Phase.RELEASE and node.state == "active":
            # Decided once, before it has the task's mark: whether it is deleted at all.
            kept = self._kept_in_place(work, node)
            if kept is None:
                return False
            if kept:
                why = "what is on it stays until it is rebuilt: its deployment needs no cleaning"
                return self._settle(work, node, ok=True, why=why, rebuild=kept)
        if step.act is Act.SEND and (work.places > 0 or not is_new):
            if work.places > 0 and self._may_send(node, mark, step.target):
                return self._send(work, node, mark, step.target)
            return not is_new
        if step.act is Act.SEND:
            return self._settle(work, node, None, "")
        if step.act is Act.RELABEL:
            return self._relabel(work, node)
        if step.act is Act.UNCLAIM:
            why = "nothing was deployed on it; its claim was taken away"
            return self._settle(work, node, ok=True, why=why) if self.is_free(node) else True
        if step.act is Act.SETTLE and (step.ok or not is_new) and not is_told(node, mark) and self.is_free(node):
            return self._settle(work, node, step.ok, step.why)
        return not is_new

    def is_free(self, node: Node) -> bool:
        """Whether nothing that was sent for an earlier task can take effect on a node any more."""
        mark = node.mark
        return mark is None or not mark.step or is_changed(node, mark) or self.is_settled(mark)

    def give_up(self, work: Work, nodes: Iterable[Node]) -> None:
        """Settle what was not begun of a task for which nobody waits any more, once that is certain."""
        for node in nodes:
            mark = own_mark(node, work.reference)
            act = self.step(work.phase, node, work.reference).act
            is_under_way = mark is not None and mark.step and is_changed(node, mark) and act is Act.WAIT
            if mark is not None and act in (Act.SEND, Act.WAIT) and not is_under_way and self.is_free(node):
                why = "its turn had not come when nobody waited for it any more: nothing was done"
                done = f"{mark.step} was done, and nothing more" if mark.step and is_changed(node, mark) else ""
                self._settle(work, node, ok=False, why=f"{why} after {done}" if done else why)

    def _kept_in_place(self, work: Work, node: Node) -> str | None:
        """Return what a rebuild keeps that brings an active node to the design; "": it is deleted. None: look again."""
        made = None if work.nodes is None else work.nodes().get(node.name)
        if made is None or not node.is_ours or node.maintenance:
            return ""
        now = self._api.node(node.uuid, ["instance_info"])
        if now is None or now.moment != node.moment or now.instance_uuid != node.instance_uuid:
            return None
        return rebuild_of(made, now.more["instance_info"])

    def _may_send(self, node: Node, mark: Mark | None, target: str) -> bool:
        """Whether a change of state may be asked for: it is certain that it is not asked for already."""
        if mark is None or mark.step != target or is_changed(node, mark):
            return True
        if (mark.ref, node.name) in self._untaken:
            return True
        return not self._doubts.is_open(mark.ref, node.name) and self.is_settled(mark)

    def _send(self, work: Work, node: Node, mark: Mark | None, target: str) -> bool:
        """Ask for a change of state: the mark first, and with it the claim of a deploy."""
        key = (work.reference, node.name)
        doubt = self._doubts.of(*key)
        is_again = mark is not None and mark.step == target and not is_changed(node, mark)
        if not is_again and mark is not None:
            self._doubts.forget(*key)
        elif doubt is not None and doubt.is_last:
            return self._settle(work, node, ok=False, why=doubt.said)
        more: dict[str, Any] = {}
        operations: list[dict[str, Any]] = []
        if target in ("active", REBUILD):
            if work.nodes is None:
                return mark is not None
            made = work.nodes().get(node.name)
            if made is None:
                return self._settle(
                    work, node, False, f"the design does not have {node.name}: nothing says what to deploy"
                )
            config = configdrive_of(made)
            more = {} if config is None else {"configdrive": config}
            info = instance_info_of(made, self.settings.image, self.settings.checksum)
            operations.append(_add("/instance_info", info))
            if target == "active":
                operations.append(_add("/instance_uuid", claim_of(work.reference, node.name)))
            elif kept_by_rebuild(info) != node.rebuild:
                said = f"{node.name} was released for another design, and cannot be rebuilt to this: release it first"
                return self._settle(work, node, ok=False, why=said)
        if not is_again or (target == "active" and not node.instance_uuid):
            # What a person gave us has no reference of its own.
            claim = work.reference if target == "active" else _kept_claim(node)
            claim = claim or (work.reference if node.is_ours else "")
            operations.append(self._mark(work, claim=claim, step=target, since=node.moment, rebuild=node.rebuild))
            changed = self._patch(work, node, operations)
            self._untaken.add(key)
            if changed is None and mark is not None and node.name in work.refused:
                return self._settle(work, node, ok=False, why=work.refused[node.name])
            if changed is None:
                return mark is not None
        else:
            changed = self._api.node(node.uuid)
        step = NextStep(Act.SETTLE) if changed is None else self.step(work.phase, changed, work.reference)
        if changed is None or step.act is not Act.SEND or step.target != target:
            # Somebody was faster; the next look tells what is due.
            return True
        if target != "manage" or self._ends_maintenance(work, changed):
            self._provision(work, changed, target, more)
        return True

    def _ends_maintenance(self, work: Work, node: Node) -> bool:
        """End the maintenance that Ironic itself began when it could not clean a node; whether that is done."""
        if not node.maintenance or node.fault != CLEAN_FAILURE:
            return True
        work.guard()
        try:
            self._api.end_maintenance(node.uuid)
        except ProvisionerError as trouble:
            if isinstance(trouble, ProvisionerRefused):
                raise
            log.warning("%s: the maintenance of %s has not ended yet: %s", work.reference, node.name, trouble)
            return False
        return True

    def _provision(self, work: Work, node: Node, target: str, more: Mapping[str, Any]) -> None:
        key = (work.reference, node.name)
        work.guard()
        self._untaken.discard(key)
        work.places -= 1
        try:
            self._api.provision(node.uuid, target, **more)
        except ProvisionerError as trouble:
            if trouble.is_of_all:
                self._untaken.add(key)
                raise
            if trouble.may_be_done and not trouble.answered:
                log.warning("%s: no answer about %s (%s): its state will tell", work.reference, node.name, trouble)
                self._doubts.note(*key, _did_not(target, node, trouble), trouble.status)
            elif trouble.status in _LATER:
                # Its lock, or no free worker: a queue.
                self._busy(work, node, target)
                log.info("%s: Ironic is busy, and is asked again: %s", node.name, trouble.said)
            else:
                self._refused(work, node, target, trouble)

    def _busy(self, work: Work, node: Node, target: str) -> None:
        """Note that nothing was done; of a rebuild that was taken and taken back the node's state does not say it."""
        self._untaken.add((work.reference, node.name))
        now = self._api.node(node.uuid) if target == REBUILD else None
        mark = None if now is None else own_mark(now, work.reference)
        if now is not None and mark is not None and is_changed(now, mark) and is_taken_back(now):
            self._settle(work, now, None, "", rebuild=mark.rebuild)

    def _refused(self, work: Work, node: Node, target: str, refusal: ProvisionerError) -> None:
        """Find out why Ironic refuses: another process was faster, or somebody else has the node now."""
        now = self._api.node(node.uuid)
        if now is None or now.moment != node.moment or own_mark(now, work.reference) is None:
            return
        key = (work.reference, node.name)
        step = self.step(work.phase, now, work.reference)
        if step.act is not Act.SEND or step.target != target:
            return
        self._untaken.add(key)
        why = _did_not(target, node, refusal)
        self._doubts.note(*key, why, refusal.status)
        doubt = self._doubts.of(*key)
        # What is wrong with its own database, or its conductor, may be over by now: once more.
        if isinstance(refusal, ProvisionerRefused) or (doubt is not None and doubt.is_last):
            self._settle(work, now, ok=False, why=why)

    def _relabel(self, work: Work, node: Node) -> bool:
        if work.nodes is None:
            return own_mark(node, work.reference) is not None
        made = work.nodes().get(node.name)
        if made is None:
            return self._settle(work, node, ok=False, why="the design does not have it")
        return self._settle(work, node, ok=True, why="", more=[_add(f"/extra/{LABELS}", labels_data(made))])

    def _settle(
        self,
        work: Work,
        node: Node,
        ok: bool | None,
        why: str,
        more: Iterable[dict[str, Any]] = (),
        rebuild: str | None = None,
    ) -> bool:
        """Write down what became of a node where its state does not say so, or that its turn is to come (None).

        `rebuild`: what its mark says of that from now on; None: what it says now.
        """
        operations = list(more)
        claim = _kept_claim(node)
        if ok is not None and node.state in NOTHING_ON_IT and self._may_unclaim(work, node):
            # Nothing was deployed under it.
            operations += [{"op": "remove", "path": "/instance_uuid"}, _add("/instance_info", {})]
            claim = ""
        rebuild = node.rebuild if rebuild is None else rebuild
        operations.append(self._mark(work, claim=claim, since=node.moment, ok=ok, why=why, rebuild=rebuild))
        return self._patch(work, node, operations) is not None or own_mark(node, work.reference) is not None

    @staticmethod
    def _may_unclaim(work: Work, node: Node) -> bool:
        return node.is_ours and (is_release(work.phase) or node.instance_uuid == claim_of(work.reference, node.name))

    def _mark(self, work: Work, **fields: Any) -> dict[str, Any]:
        mark = Mark(work.reference, work.action, at=self._clock().isoformat(), **fields)
        return _add(f"/extra/{MARK}", mark.data())

    def _patch(self, work: Work, node: Node, operations: list[dict[str, Any]]) -> Node | None:
        """Change a node; None: it is not known to be changed. All that is asked for so may be asked for again."""
        work.guard()
        work.lost.discard(node.name)
        try:
            # The answer shows the lock under which it was changed.
            return replace(self._api.patch(node.uuid, operations), reservation="")
        except ProvisionerError as trouble:
            if trouble.is_of_all or isinstance(trouble, AuthenticationFailed):
                raise
            is_later = trouble.answered and trouble.status in _LATER
            if trouble.may_be_done and not is_later:
                work.lost.add(node.name)
            elif not is_later:
                work.refused[node.name] = f"Ironic does not note at {node.name} what is to be done: {trouble.said}"
            log.warning("%s: %s is not known to be marked: %s", work.reference, node.name, trouble)
        return None

    def _clock(self) -> datetime:
        return self._api.now or datetime.now(UTC)


_LATER: Final = (409, 503)


def _add(path: str, value: object) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def _kept_claim(node: Node) -> str:
    """Return the reference whose deployment is on a node; also where Ironic failed to take that away."""
    if node.mark is None:
        return ""
    if node.state == "error" and not node.instance_uuid:
        return node.mark.claim
    references = filter(None, (node.mark.claim, node.mark.ref))
    return next((one for one in references if claim_of(one, node.name) == node.instance_uuid), "")


def _did_not(target: str, node: Node, refusal: ProvisionerError) -> str:
    said = refusal.said.replace(f"node {node.uuid}", node.name).replace(node.uuid, node.name)
    return f"Ironic did not {_VERBS.get(target, target)} {node.name}: {said_of(refusal, said)}"
