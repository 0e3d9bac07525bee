"""What the controller's account may do in Airflow: which rights it needs, and the job that tries them.

One that may not do its work looks well otherwise: nothing is closed, nobody is told, and no request fails that anybody
made. So what is refused stands in the store, with the status of each site.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Protocol

from site_engine.controller.controller import Controller, Job
from site_engine.kinds import KINDS
from site_store import SiteStore
from site_store.status.leases import RIGHTS
from strategy_lib.node_states.repair import RepairMode

NOTIFY: Final = "notify"
"""The DAG whose runs tell Airflow's notifiers."""
REPAIR: Final = "repair_site"
RIGHTS_EVERY: Final = 60.0
"""Seconds between two tries of what was refused, and of reading."""
ALL_EVERY: Final = 86400.0
"""Seconds between two tries of everything: each leaves lines in Airflow's audit log."""
COMMAND: Final = "slipway controller-role"
"""Prints what gives the account its rights."""


@dataclass(frozen=True, slots=True)
class NeededRights:
    """What the account needs in Airflow: to see the list of all runs, and rights on single DAGs.

    Attributes
    ----------
    changes : DAGs whose runs it sees and changes.
    triggers : of these, DAGs that it triggers.
    """

    changes: tuple[str, ...]
    triggers: tuple[str, ...]


def needed_rights(*, repairs: bool) -> NeededRights:
    """Return what the controller's account needs; `repairs`: sites are repaired (rule 57)."""
    return NeededRights((*KINDS, NOTIFY), (NOTIFY, REPAIR) if repairs else (NOTIFY,))


class RightsTrial(Protocol):
    """Tries rights in Airflow, without any effect."""

    def __call__(self, changes: Collection[str], triggers: Collection[str], *, again: bool) -> list[str]:
        """Return what is refused (403), each as words behind "may not"; raise `EngineError`: Airflow does not say.

        `again`: also what was granted before is tried.
        """


def try_rights(refused: RightsTrial) -> Job:
    """Return the job that tries what the account may do; what is refused is the problem of the check `RIGHTS`.

    That Airflow does not answer is another problem: of the rights nothing new is known then.
    """
    tried: list[float] = []

    def work(controller: Controller) -> None:
        again = not tried or controller.monotonic() - tried[0] >= ALL_EVERY
        if again:
            tried[:] = [controller.monotonic()]
        controller.lease()
        needed = needed_rights(repairs=_repairs(controller.store))
        missing = refused(needed.changes, needed.triggers, again=again)
        controller.note(RIGHTS, problem_of(missing) if missing else None)

    return Job("trying rights", RIGHTS_EVERY, work)


def problem_of(missing: Collection[str]) -> str:
    """Return in a sentence what an account may not, and what to do."""
    first, *more = missing
    others = f", and {len(more)} things more" if len(more) > 1 else f", nor {more[0]}" if more else ""
    return (
        f"Airflow does not let the controller's account {first}{others}; `{COMMAND}` prints how to give it its rights"
    )


def _repairs(store: SiteStore) -> bool:
    """Whether there is a site whose failed nodes are deployed anew."""
    modes = (store.revisions.settings(site).repair for site in store.repairs.concerned())
    return any(mode in (RepairMode.ON, RepairMode.REDEPLOY) for mode in modes)
