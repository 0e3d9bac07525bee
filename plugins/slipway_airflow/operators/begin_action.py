"""The first task of an action: take its site, load its design, and have the provisioner check that."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from airflow.sdk import Context

from design_rendering.design import read_design
from design_rendering.kinds.nodes import nodes_from_documents
from design_rendering.reading.documents import Document
from provisioner_client.protocol import Provisioner
from site_engine.actions.dead_actions import reconcile, take_site
from site_engine.actions.site_steps import steps_without_work
from site_engine.admission import (
    Refusal,
    judge_critical_groups,
    judge_design,
    judge_named_nodes,
    judge_parameters,
)
from site_engine.designs import DesignCheck, check_design, refusal_stays
from site_engine.errors import StepError
from site_engine.groups.turns import OVER
from site_engine.kinds import REPORT, kind_of
from site_engine.log_messages import TaskLog, count
from site_engine.node_lists import read_list
from site_engine.operations.run import ActionClients
from site_engine.parameters import (
    ParameterError,
    known_in_run,
    parameters_of,
    read_checked,
    unknown_parameters,
)
from site_engine.plans.differences import left_to_others
from site_engine.plans.planning import strategy_of
from site_engine.redaction import exposed_in
from site_store import NewAction, RevisionRecord, SiteStore
from slipway_airflow.operators.action import run_states
from slipway_airflow.operators.base import CONFIGURATION_KEY, SiteOperator, masked_token, skip_tasks, task_states
from strategy_lib.strategy import strategy_to_data


class BeginActionOperator(SiteOperator):
    """Take the site, read the design, and have the provisioner check it, before anything is touched.

    Returns (XCom) ``{"revision": int, "strategy": {"groups": [...]}}``, and pushes the configuration under a key of its
    own. Tasks without work, as far as that is known by now, are skipped.

    Parameters
    ----------
    kind : a kind of action (`site_engine.kinds`), such as ``deploy_site``.
    steps : those of its steps that this task carries out.
    """

    def __init__(self, *, kind: str, steps: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kind = kind
        self.steps = tuple(steps)
        self._loaded: dict[str, Any] = {}

    def run_step(self, context: Context, store: SiteStore) -> dict[str, Any]:
        """Carry a step out. All may be done again: they only read, and take a site that is ours."""
        works = {"acquire": self._acquire, "load_design": self._load, "validate_design": self._validate}
        works[self.step_name()](context, store)
        return self._loaded

    def _acquire(self, context: Context, store: SiteStore) -> None:
        """Write the action down and take its site; a second action on a busy site fails and names the first.

        A dry run only reads and takes nothing.
        """
        ti, params, run = context["ti"], context["params"], context["dag_run"]
        kind, asked = kind_of(self.kind), read_checked(params)
        settings = store.revisions.settings(str(params["site"]), asked.revision)
        asked = asked.with_default(kind, settings.max_parallel_groups)
        action = store.actions.ensure(
            ti.dag_id,
            ti.run_id,
            NewAction(
                self.kind,
                str(params["site"]),
                asked.revision,
                asked.to_run_record(),
                getattr(run, "triggering_user_name", None) or "airflow",
                dry_run=asked.dry_run,
                whole_site=asked.is_whole_site(kind),
                steps=kind.planned_steps,
                node_step=kind.node_step,
                nodes=asked.target_nodes or (),
            ),
        )
        self._begin(store, context)
        unknown = unknown_parameters(run.conf or {}, known_in_run(kind))
        if unknown:
            raise ParameterError(unknown)
        self.log.info("Action %s: %s of site %s, revision %s.", action.id, action.kind, action.site, action.revision)
        if action.dry_run:
            self.log.info("Dry run: the site is not locked and nothing will be submitted.")
            return
        if action.state.is_end and task_states(context, [REPORT]).get(REPORT) in OVER:
            # Nobody would report again, nor free the site: a person has cleared this task alone.
            self.log.info("The action has its report, which is not made again: its site is not taken.")
            return
        take_site(store, action.id, run_states(ti), self.log)
        # Whatever else looks open on this site is not: it has no lock, and its run may be gone (rule 24).
        for other in store.actions.unfinished(action.site):
            if other.id != action.id:
                reconcile(store, other.id, run_states(ti))
        self.log.info("Site %s is held by this action.", action.site)

    def _load(self, context: Context, store: SiteStore) -> None:
        """Read the revision's configuration and strategy (rules 1-3, 21, 22)."""
        action = self.action(store, context)
        revision, documents = self.read_revision(store, action.site, action.revision)
        design = read_design(documents).keyed(store.secret_texts.digest_key())
        kind, parameters = kind_of(action.kind), parameters_of(action)
        # A run may be started in Airflow, where nobody has looked at this before.
        out_of_use, records = store.user_states.left_out(action.site, action.kind), store.nodes.of_site(action.site)
        _require_none(
            [
                *judge_parameters(kind, parameters),
                *judge_design(parameters, action.site, revision.number, design, exposed_in(store, revision)),
                *judge_named_nodes(kind, parameters, action.site, out_of_use, left_to_others(records)),
            ],
            self.log,
        )
        strategy = strategy_of(kind, parameters, design, records)
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
        self._loaded = {"revision": revision.number, "strategy": strategy_to_data(strategy)}

    def _validate(self, context: Context, store: SiteStore) -> None:
        """Have the provisioner check the design, and make sure that it sees its nodes."""
        action = self.action(store, context)
        # Its secrets are known by this, too: the provisioner's remarks may quote the design.
        revision, design_documents = self.read_revision(store, action.site, action.revision)
        clients = self.clients(store, action)
        with closing(clients.own()) as provisioner:
            check = self._check(clients, provisioner, revision, design_documents)
            # A run may be started in Airflow, where nobody has looked at this before.
            kind = kind_of(action.kind)
            if kind.is_destructive:
                listed = read_list(store, action.site, clients.connection.id, provisioner)
                conditions = {name: node.condition for name, node in listed.items()}
                design = read_design(design_documents)
                users = store.user_states.in_force(action.site)
                _require_none(judge_critical_groups(kind, parameters_of(action), design, conditions, users), self.log)
        self.log.info("The provisioner accepts the design and sees %s in it.", count(check.nodes, "node"))
        keyed = read_design(design_documents).keyed(store.secret_texts.digest_key())
        skip_tasks(store, action, steps_without_work(store, action, keyed))

    def _check(
        self, clients: ActionClients, provisioner: Provisioner, revision: RevisionRecord, documents: Sequence[Document]
    ) -> DesignCheck:
        """Check the design, and keep the address at which it was found for all that follows in this action."""
        store, action, connection = clients.store, clients.action, clients.connection
        token = masked_token(store, action)
        check = check_design(
            provisioner,
            lambda fetch: connection.design_address(token, fetch),
            revision.text or "",
            [node.name for node in nodes_from_documents(documents)],
            action.design_fetch or store.actions.design_fetch(action.site, action.revision),
            backend=connection.backend,
        )
        store.actions.mark_design_fetch(action.id, check.fetch)
        for message in check.validation.messages:
            self.log.info("  %s: %s", message.level, message)
        if check.validation.omitted:
            self.log.info("  and %d more", check.validation.omitted)
        if not check.validation.valid:
            why = f"the provisioner refuses the design: {check.validation.reasons()}"
            stays = refusal_stays(connection.backend)
            raise StepError(f"{why}. {stays}" if stays else why)
        if not check.nodes:
            raise StepError("the design has no nodes")
        if check.shortage:
            raise StepError(check.shortage)
        return check


def _require_none(refusals: Sequence[Refusal], log: TaskLog) -> None:
    """Fail with all that speaks against the action, after every detail of it is logged."""
    for refusal in refusals:
        for detail in refusal.details:
            log.warning("%s", detail)
        if refusal.is_overridden:
            log.warning("%s: the action goes on in spite of it, as its parameters say", refusal.text)
    refused = [str(refusal) for refusal in refusals if not refusal.is_overridden]
    if refused:
        raise StepError("; ".join(refused))
