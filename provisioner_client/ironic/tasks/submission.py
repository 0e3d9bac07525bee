"""Starting a task once, whatever is lost on the way (rule 12): each of its nodes gets its mark, and has its turn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from design_rendering.kinds.slipway_nodes import SlipwayNode
from provisioner_client.errors import ProvisionerError, ProvisionerRefused, SubmissionRefused, SubmissionUncertain
from provisioner_client.http_settings import growing_delays
from provisioner_client.ironic.api import IronicApi
from provisioner_client.ironic.node import Node
from provisioner_client.ironic.tasks.driver import Driver
from provisioner_client.ironic.tasks.next_step import Act, own_mark, with_mark
from provisioner_client.ironic.tasks.work import Work
from provisioner_client.piecewise.provisioner import Request
from provisioner_client.site_documents import DesignReader
from strategy_lib.phase import Phase

log = logging.getLogger(__name__)

_MOST: Final = 5


class Submission:
    """Marks the nodes of tasks, and gives them their turns.

    Parameters
    ----------
    api, driver, designs : the site's.
    enroll : has Ironic know a node of the design.
    sleep : waits for so many seconds.
    """

    def __init__(
        self,
        api: IronicApi,
        driver: Driver,
        designs: DesignReader,
        sleep: Callable[[float], None],
        enroll: Callable[[SlipwayNode], Node],
    ) -> None:
        self._api, self._driver, self._designs = api, driver, designs
        self._sleep, self._enroll = sleep, enroll

    def of_nodes(self, request: Request, names: Sequence[str]) -> frozenset[str]:
        """Mark these nodes, unless they are marked, and begin with as many as there are places for.

        A node that changes its state, or is locked, cannot be marked: it is waited for, as long as a lost request may
        take effect. One that must not be touched is not marked.

        Returns
        -------
        frozenset
            The nodes that have the task's mark.

        Raises
        ------
        SubmissionRefused : no node has it, and none will. SubmissionUncertain : it is not known of some.
        """
        phase, reference = request.phase, request.reference
        design = self._designs.for_task(phase, request.design)
        listed = {node.name: with_mark(node, reference) for node in self._api.nodes()}
        work = Work(phase, reference, lambda: design.nodes, request.guard, self._driver.places(listed.values()))
        work.looked_at = self._driver.now()
        delays = growing_delays(self._driver.settings.first_look, self._driver.settings.settle)
        marked: set[str] = set()
        refused: dict[str, str] = {}
        waiting = list(names)
        while waiting:
            waiting = [name for name in waiting if not self._begin(work, name, listed.get(name), marked, refused)]
            delay = next(delays, None)
            if not waiting or delay is None:
                break
            self._sleep(delay)
            listed = {node.name: with_mark(node, reference) for node in self._api.nodes_of(waiting)}
            work.looked_at = self._driver.now()
        if unknown := sorted(work.lost & {*waiting}):
            raise SubmissionUncertain(f"reference {reference}: no answer says whether it is noted at {unknown[0]}")
        if not marked:
            said = [*refused.values(), *(f"{name} could not be marked" for name in waiting)]
            more = f", and {len(said) - _MOST} more" if len(said) > _MOST else ""
            raise SubmissionRefused(f"nothing was done: {'; '.join(said[:_MOST])}{more}", answered=True)
        for name in waiting:
            log.warning("%s: %s could not be marked in time: nothing is done to it", reference, name)
        return frozenset(marked)

    def _begin(self, work: Work, name: str, node: Node | None, marked: set[str], refused: dict[str, str]) -> bool:
        """Mark one node, and do what is due for it; False: that is to be tried again."""
        node = None if node is None else self._driver.current(work, node)
        if node is None and work.phase is Phase.PREPARE and work.nodes is not None and name in work.nodes():
            try:
                node = self._enrolled(work, work.nodes()[name])
            except ProvisionerRefused as refusal:
                refused[name] = refusal.detail
                return True
            if node is None:
                return False
        if node is None:
            refused[name] = f"Ironic has no node {name} in {self._api.limits}"
            return True
        mark = own_mark(node, work.reference)
        if mark is not None and mark.action != work.action:
            raise ProvisionerRefused(f"reference {work.reference} belongs to another task, {mark.action}")
        step = self._driver.step(work.phase, node, work.reference)
        if mark is None and step.act is Act.SETTLE and not step.ok:
            refused[name] = step.why
            return True
        if not self._driver.carry_out(work, node, is_new=mark is None):
            if (why := work.refused.get(name)) is not None:
                refused[name] = why
            return why is not None
        marked.add(name)
        return True

    def _enrolled(self, work: Work, node: SlipwayNode) -> Node | None:
        """Have Ironic know a node of the design, where that says so; None: the answer was lost, the next look tells."""
        work.guard()
        try:
            return self._enroll(node)
        except ProvisionerError as trouble:
            if trouble.is_of_all or isinstance(trouble, ProvisionerRefused):
                raise
            log.warning("%s: no answer about the enrolment of %s: %s", work.reference, node.name, trouble)
            return None
