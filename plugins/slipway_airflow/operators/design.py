"""Load the design of the action's revision, and have the provisioner check it, before anything is touched."""

from __future__ import annotations

import dataclasses
import difflib
from typing import TYPE_CHECKING, Any

from provisioner_client.drydock.validation_answer import reasons
from site_engine.actions.kinds import Override, kind_of
from site_engine.actions.parameters import parameters_of
from site_engine.design_check import REFUSAL_STAYS, DesignCheck, check_design
from site_engine.errors import StepError
from site_engine.log_messages import count, names
from site_engine.revision_documents import exposed_in
from slipway_airflow.design_address import address_of, masked_token
from slipway_airflow.hook import DrydockHook
from slipway_airflow.operators.base import SiteOperator, marker
from strategy_lib.design import read_design
from strategy_lib.disruption import shortfalls
from strategy_lib.inventory import nodes_from_documents
from strategy_lib.outcome import NodeCondition
from strategy_lib.strategy import strategy_to_data, targeted_strategy

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from airflow.sdk import Context

    from provisioner_client.protocol import Provisioner
    from site_store import ActionRecord, SiteStore
    from strategy_lib.documents import Document

CONFIGURATION_KEY = "configuration"


class LoadDesignOperator(SiteOperator):
    """Read the revision's configuration and strategy (rules 1-3, 21, 22).

    Returns (XCom) ``{"revision": int, "strategy": {"groups": [...]}}``, and pushes the configuration under a key of its
    own.
    """

    def execute(self, context: Context) -> dict[str, Any]:
        """Load the design."""
        with self.telling(context) as store:
            action = self.action(store, context)
            revision, documents = self.read_revision(store, action.site, action.revision)
            exposed = exposed_in(store, revision)
            if exposed:
                said = "; ".join(exposed[:5])
                raise StepError(f"{said}; mend it, commit, and start a new action: force does not help here")
            design = read_design(documents)
            targets = parameters_of(action).target_nodes
            strategy = design.strategy
            if targets is None and kind_of(action.kind).targeted:
                raise StepError(f"{action.kind} needs target_nodes: name the nodes that it is for")
            if targets is not None:
                known = [node.name for node in design.nodes]
                _check_targets(targets, known, f"revision {revision.number} of site {action.site}")
                strategy = targeted_strategy(targets)
            for warning in design.warnings:
                self.log.warning("%s", warning)
            self.log.info(
                "Revision %d of site %s: %s, %s.",
                revision.number,
                action.site,
                count(len(design.nodes), "node"),
                count(len(strategy.groups), "group"),
            )
            # By itself: every group needs it, and none needs the strategy.
            context["ti"].xcom_push(key=CONFIGURATION_KEY, value=dataclasses.asdict(design.configuration))
            return {
                "revision": revision.number,
                "strategy": strategy_to_data(strategy),
            }


def _check_targets(targets: Collection[str], known: Collection[str], source: str) -> None:
    if not targets:
        raise StepError("target_nodes is empty: name at least one node")
    missing = sorted(set(targets).difference(known))
    if not missing:
        return
    hints = [near[0] for name in missing if (near := difflib.get_close_matches(name, known, 1))]
    hint = f"; did you mean {names(hints)}?" if hints else ""
    raise StepError(f"target_nodes names nodes that {source} does not have: {names(missing)}{hint}")


class ValidateDesignOperator(SiteOperator):
    """Have the provisioner check the design, and make sure that it sees its nodes."""

    def execute(self, context: Context) -> None:
        """Validate; a design that cannot be used fails here, where nothing has been touched yet."""
        with self.telling(context) as store:
            action = self.action(store, context)
            # Its secrets are known by this, too: the provisioner's remarks may quote the design.
            _, design_documents = self.read_revision(store, action.site, action.revision)
            hook = DrydockHook.for_action(store, action)
            provisioner = self.discreet(hook.get_conn(marker(action)), store, action)
            try:
                check = self._check(store, action, hook, provisioner, design_documents)
                if kind_of(action.kind).is_destructive:
                    self._guard_critical_groups(action, design_documents, provisioner)
            finally:
                provisioner.close()
            self.log.info("The provisioner accepts the design and sees %s in it.", count(check.nodes, "node"))

    def _check(
        self,
        store: SiteStore,
        action: ActionRecord,
        hook: DrydockHook,
        provisioner: Provisioner,
        documents: Sequence[Document],
    ) -> DesignCheck:
        """Check the design, and keep the address at which it was found for all that follows in this action."""
        token = masked_token(store, action)
        check = check_design(
            provisioner,
            lambda fetch: address_of(token, hook.settings, fetch),
            [node.name for node in nodes_from_documents(documents)],
            action.design_fetch or store.design_fetch(action.site, action.revision),
        )
        store.note_design_fetch(action.id, check.fetch)
        for message in check.validation.messages:
            self.log.info("  %s: %s", message.level, message)
        if check.validation.omitted:
            self.log.info("  and %d more", check.validation.omitted)
        if not check.validation.valid:
            raise StepError(f"the provisioner refuses the design: {reasons(check.validation)}. {REFUSAL_STAYS}")
        if not check.nodes:
            raise StepError("the design has no nodes")
        if check.shortage:
            raise StepError(check.shortage)
        return check

    def _guard_critical_groups(
        self, action: ActionRecord, documents: Sequence[Document], provisioner: Provisioner
    ) -> None:
        """Refuse to destroy what critical groups need now, unless that is forced: a run may be started in Airflow."""
        design = read_design(documents)
        deployed = {name for name, node in provisioner.nodes().items() if node.condition is NodeCondition.DEPLOYED}
        short = shortfalls(design.strategy, design.nodes, deployed, parameters_of(action).target_nodes or ())
        for shortfall in short:
            self.log.warning("%s", shortfall)
        if short and not parameters_of(action).allows(Override.BELOW_CRITERIA):
            said = "; ".join(str(shortfall) for shortfall in short)
            raise StepError(f"{said}: name fewer nodes, or force it")
