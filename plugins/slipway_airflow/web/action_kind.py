"""The kinds of actions: what each of them is made of, and what it asks for. A kind is also the id of its DAG."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

GROUP_STEP = "deploy_group"
_OPENING = ("acquire", "load_design", "validate_design")
_CLOSING = ("report", "release")


@dataclass(frozen=True, slots=True)
class ActionKind:
    """One kind of action.

    Attributes
    ----------
    name
        The kind, and the id of the DAG that carries it out.
    before
        Airflow's task ids before the groups, in their order.
    has_groups
        Whether it deploys groups (each a step of its own, and what a pause holds back).
    site_wide
        Whether it brings the whole site to a revision, so that no commit may be skipped unknowingly.
    needs_targets
        Whether it must name its nodes.
    destroys
        Whether it takes its nodes out of service, so that critical groups are guarded.
    """

    name: str
    before: tuple[str, ...]
    has_groups: bool = True
    site_wide: bool = False
    needs_targets: bool = False
    destroys: bool = False

    @property
    def after(self) -> tuple[str, ...]:
        """Airflow's task ids after the groups, in their order."""
        return _CLOSING


_SITE_STEPS = (*_OPENING, "verify_site", "prepare_site", "plan_groups")

KINDS: Mapping[str, ActionKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            ActionKind("deploy_site", _SITE_STEPS, site_wide=True),
            ActionKind("update_site", _SITE_STEPS, site_wide=True),
            ActionKind(
                "redeploy_server",
                (*_OPENING, "verify_site", "destroy_nodes", "prepare_site", "plan_groups"),
                needs_targets=True,
                destroys=True,
            ),
            ActionKind("relabel_nodes", (*_OPENING, "relabel_nodes"), has_groups=False, needs_targets=True),
            ActionKind(
                "destroy_nodes", (*_OPENING, "destroy_nodes"), has_groups=False, needs_targets=True, destroys=True
            ),
        )
    }
)
