"""`slipway doctor`: gather what is known of this installation, and print what is wrong with it. It changes nothing."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import click
from rich.text import Text

from api_client.airflow import AirflowClient
from api_client.airflow_health import AirflowHealth
from api_client.session import ApiError, ApiSession, ApiUnreachable
from api_client.slipway import SlipwayClient
from site_engine.doctor.facts import DagFacts, Facts, Finding, Level, Report
from site_engine.doctor.judging import judge
from site_engine.version import version
from site_store import SiteStore, StoreError, StoreUnavailable
from site_store.sql.fence import CURRENT
from site_store.status.leases import CONTROLLER
from slipway_cli import SlipwayCliError
from slipway_cli.online.server.server_config import ServerConfig, server_config
from slipway_cli.options import examples
from slipway_cli.output import console, counted

_ANSWER = 30.0
"""Seconds for an answer, also of a provisioner, for which Slipway's API waits 20 s."""


@click.command(epilog=examples("slipway doctor", "slipway doctor --json"))
@click.option("--profile", metavar="NAME", help="The server, by its profile.  [env SLIPWAY_PROFILE]")
@click.option("--json", "as_json", is_flag=True, help="Print findings, and what was looked at, as JSON.")
def doctor(profile: str | None, as_json: bool) -> None:
    """Find what is wrong with this installation, with the line to change. It changes nothing.

    It reads what each process has noted in the store (SLIPWAY_DATABASE_URL), and asks the API server as the user of
    `slipway login`. The exit status is 1 where something is an error, and 0 with warnings alone.
    """
    report = judge(gather(profile or click.get_current_context().find_root().params.get("profile")))
    if as_json:
        click.echo(json.dumps(report.to_data(), indent=2, ensure_ascii=False))
    else:
        _print(report)
    sys.exit(report.has_errors)


def gather(profile: str | None) -> Facts:
    """Return what is known: of the store, and of the API server that a profile names."""
    not_looked_at: list[str] = []
    found: dict[str, Any] = {"now": datetime.now(UTC), "version": version(), "schema": CURRENT}
    sites: list[str] = []
    try:
        with SiteStore.open() as store:
            found |= _of_store(store)
            sites = [site for site, stopped in store.site_stops.of_sites().items() if not stopped]
    except StoreError as error:
        found["store_problem"] = str(error)
        if isinstance(error, StoreUnavailable) and error.fix:
            found |= {"store_problem": error.what, "store_fix": error.fix}
        not_looked_at.append("processes, their settings, the controller's checks and sites: the store cannot be used")
    try:
        where = server_config(profile, None)
    except SlipwayCliError as error:
        if profile:
            raise  # A name that is misspelt is no installation in which nothing is wrong.
        not_looked_at.append(f"Airflow's health and DAGs, and provisioners: {error}")
    else:
        with contextlib.closing(ApiSession.with_token(where.url, where.user or "", where.token, _ANSWER)) as session:
            found |= _of_api(session, where, sites, not_looked_at)
    return Facts(**found, not_looked_at=not_looked_at)


def _of_store(store: SiteStore) -> dict[str, Any]:
    now, processes = store.processes.all()
    led = store.leases.get(CONTROLLER)
    return {
        "now": now,
        "processes": processes,
        "held": store.home.held(),
        "server": store.processes.server(),
        "checks": store.checks.all(),
        "controller_leads": led is not None and led.expires_at > now,
        "unnamed": {
            site: nodes for site, nodes in store.nodes.unnamed().items() if store.revisions.settings(site).health_url
        },
    }


def _of_api(session: ApiSession, where: ServerConfig, sites: list[str], not_looked_at: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    try:
        found["health"] = {name: one.problem for name, one in AirflowHealth(session).components().items()}
    except ApiUnreachable as error:
        not_looked_at.append("Airflow's health and DAGs, and provisioners: the API server does not answer")
        return {"api_problem": str(error)}
    except ApiError as error:
        not_looked_at.append(f"Airflow's health: {error}")
    if where.token is None:
        not_looked_at.append(f"Airflow's DAGs, and provisioners: not logged in, `{where.login}`")
        return found
    try:
        airflow = AirflowClient(session)
        dags = airflow.dags()
        paused = frozenset(dag for dag, is_paused in dags.items() if is_paused)
        found["dags"] = DagFacts(frozenset(dags), paused, airflow.import_errors())
    except ApiError as error:
        not_looked_at.append(f"Airflow's DAGs: {error}")
    found["provisioners"] = _provisioners(SlipwayClient(session), sites, not_looked_at)
    return found


def _provisioners(slipway: SlipwayClient, sites: list[str], not_looked_at: list[str]) -> Mapping[str, str | None]:
    found = {}
    for site in sites:
        try:
            found[site] = slipway.provisioner_problem(site)
        except ApiError as error:
            not_looked_at.append(f"the provisioner of site {site}: {error}")
    return found


def _print(report: Report) -> None:
    target = console()
    for level, style in ((Level.ERROR, "bold red"), (Level.WARNING, "bold yellow")):
        chosen = [finding for finding in report.findings if finding.level is level]
        if chosen:
            target.print(Text(f"{counted(len(chosen), level.value)}:", style=style))
        for finding in chosen:
            _print_one(finding)
    if not report.findings:
        target.print(Text("Nothing is wrong in what was looked at."))
    target.print(Text(f"Looked at: {'; '.join(report.looked_at) or 'nothing'}."), soft_wrap=True)
    target.print(Text(f"Not looked at: {'; '.join(report.not_looked_at) or 'nothing'}."), soft_wrap=True)


def _print_one(finding: Finding) -> None:
    target = console()
    target.print(Text(f"  {finding.what}"), soft_wrap=True)
    target.print(Text(f"      why: {finding.why}", style="dim"), soft_wrap=True)
    target.print(Text(f"      fix: {finding.fix}"), soft_wrap=True)
