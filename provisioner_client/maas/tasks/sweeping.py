"""Deletes tags of tasks that are over: their results were taken in long ago.

It is housekeeping: what cannot be deleted now is deleted by a later task.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from provisioner_client.errors import ProvisionerError, ProvisionerProtocolError
from provisioner_client.maas.api import MaasApi
from provisioner_client.maas.tasks.ledger import Ledger
from provisioner_client.maas.tasks.task_tag import TASK, TaskTag

log = logging.getLogger(__name__)


class Sweeper:
    """Deletes such tags of one site.

    Parameters
    ----------
    api : of the site.
    now : seconds since any moment.
    """

    def __init__(self, api: MaasApi, now: Callable[[], float]) -> None:
        self._api, self._now = api, now

    def sweep_machines(self, names: Iterable[str], guard: Callable[[], None]) -> None:
        """Delete those of these tags, which stand on the machines of a new task, whose tasks are over."""
        for name in sorted(names):
            try:
                tag = self._api.task(name)
                if tag is None:
                    continue
                ledger = Ledger(self._api, tag, self._now)
                ledger.read()
                if ledger.is_over():
                    guard()
                    self._api.delete_tag(name)
            except ProvisionerProtocolError:
                continue  # somebody else's tag
            except ProvisionerError as trouble:
                log.info("tags of earlier tasks stay in MAAS for now: %s", trouble)
                return

    def sweep_site(self, reference: str, guard: Callable[[], None]) -> None:
        """Delete the tags that stand on no machine, of earlier tasks than this one: nobody finds them else.

        These are tasks of the whole site, and those of earlier actions that acted on no machine. One action at a time
        is on a site, so that nobody waits for them.
        """
        try:
            for tag in self._api.tasks():
                if tag.site == self._api.limits and _may_go(tag, reference):
                    guard()
                    self._api.delete_tag(tag.reference)
        except ProvisionerError as trouble:
            log.info("tags of earlier tasks of the site stay in MAAS for now: %s", trouble)


def _may_go(tag: TaskTag, reference: str) -> bool:
    this, other = TASK.fullmatch(reference), TASK.fullmatch(tag.reference)
    if this is None or other is None:
        return False
    is_earlier_action = other["action"] < this["action"]
    is_earlier = is_earlier_action or (other["action"] == this["action"] and int(other["op"]) < int(this["op"]))
    if not tag.orders and "" in tag.settled:
        return is_earlier
    return is_earlier_action and tag.orders.keys() <= tag.settled.keys()
