"""How a site goes on from here: which action brings its newest revision about, and what it has to be told. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from site_engine.kinds import Override
from site_engine.log_messages import count, names
from site_engine.plans.plan import SitePlan
from site_engine.plans.site_rehearsals import UPDATE

FIRST = "deploy_site"


@dataclass(frozen=True, slots=True)
class NextStep:
    """An action that brings a site's newest revision about.

    Attributes
    ----------
    kind : which.
    overrides : without these it would leave nodes alone that it is for, or be refused.
    why : what would be so without them; "" where it needs none.
    """

    kind: str
    overrides: tuple[Override, ...] = ()
    why: str = ""

    @property
    def parameters(self) -> Mapping[str, bool]:
        """What a request for it has as parameters."""
        return {each.value: True for each in self.overrides}

    def command(self, site: str) -> str:
        """Return what a person types."""
        flags = "".join(f" --{each.value.replace('_', '-')}" for each in self.overrides)
        return f"slipway create action {self.kind} --site {site}{flags} --follow"

    def to_data(self) -> dict[str, Any]:
        return {"name": self.kind, "parameters": dict(self.parameters), "why": self.why}


def next_kind(revision: int, *, is_done: bool) -> str:
    """Return the kind of action that comes next.

    Parameters
    ----------
    revision : the newest.
    is_done : some of the site's nodes are done.
    """
    return FIRST if revision == 1 and not is_done else UPDATE


def next_step(plan: SitePlan) -> NextStep | None:
    """Return how a site goes on by the plan of an update; None where nothing was committed for it."""
    if plan.revision is None:
        return None
    stays = plan.rehearsal.stays
    is_done = bool(plan.unchanged) or any(each.difference.done_revision is not None for each in plan.nodes.values())
    overrides = tuple(
        override
        for override, is_needed in (
            (Override.ALLOW_REDEPLOY, bool(stays)),
            (Override.MANY_REDEPLOYS, plan.rehearsal.takes_many),
        )
        if is_needed
    )
    said = []
    if stays:
        some = "is" if len(stays) == 1 else "are"
        said.append(
            f"{count(len(stays), 'node')} {some} deployed otherwise than wanted, and left alone without "
            f"allow_redeploy, which erases and deploys anew: {names(stays)}"
        )
    if plan.rehearsal.takes_many:
        said.append("these are more than the settings of the site allow at once, without many_redeploys")
    return NextStep(next_kind(plan.revision, is_done=is_done), overrides, "; ".join(said))
