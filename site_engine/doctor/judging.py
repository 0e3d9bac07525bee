"""The doctor's judgement: all that is wrong, errors first, and what the report is about."""

from __future__ import annotations

from collections.abc import Iterator

from site_engine.doctor.facts import Facts, Finding, Level, Report, places
from site_engine.doctor.processes import judge_processes
from site_engine.doctor.settings import judge_settings
from site_engine.kinds import KINDS
from site_store.status.leases import DESIGN, RIGHTS
from strategy_lib.settings import SLIPWAY_NODE_SIGNATURES, SLIPWAY_STORE_KEYS_FILE

_DAGS = frozenset((*KINDS, "notify"))
_PROVISIONER = "provisioner of site "
_COMPONENT = "airflow: "
_UPGRADE = "slipway store upgrade"
_MOST_NAMED = 5
_RESTORED = "slipway store restored"


def judge(facts: Facts) -> Report:
    """Return what is wrong, what was looked at, and what was not.

    What is not known is judged neither good nor bad: it stands under what was not looked at.
    """
    found = list(_all(facts))
    ordered = sorted(dict.fromkeys(found), key=lambda finding: finding.level is not Level.ERROR)
    return Report(ordered, list(_looked_at(facts)), [*facts.not_looked_at, *_not_looked_at(facts)])


def _all(facts: Facts) -> Iterator[Finding]:
    if facts.store_problem is not None:
        upgrades = _UPGRADE in facts.store_problem
        named = "SLIPWAY_DATABASE_URL=postgresql://…   (the same for this command and all processes)"
        fix = facts.store_fix or (_UPGRADE if upgrades else named)
        yield Finding(Level.ERROR, facts.store_problem, "without its store Slipway does nothing", fix)
    else:
        if facts.held is not None:
            why = "nothing is sent to a provisioner, so that no node is acted on twice"
            restored = f"{_RESTORED}   (or with --clone, for a copy)"
            led = "slipway controller   (one that leads compares them; its checks name who does not answer)"
            yield Finding(Level.ERROR, facts.held, why, restored if _RESTORED in facts.held else led)
        yield from judge_processes(facts)
        yield from judge_settings(facts)
        yield from _checks(facts)
        yield from _agents(facts)
    if facts.api_problem is not None:
        yield Finding(
            Level.ERROR, facts.api_problem, "nobody can be served", "airflow api-server   (or name another server)"
        )
    yield from _airflow(facts)
    for site, problem in (facts.provisioners or {}).items():
        if problem is not None:
            yield Finding(
                Level.ERROR,
                f"the provisioner of site {site}: {problem}",
                "no action on the site can begin",
                _connection(site),
            )


def _airflow(facts: Facts) -> Iterator[Finding]:
    for component, problem in (facts.health or {}).items():
        if problem is not None:
            yield Finding(
                Level.ERROR, f"Airflow's {component}: {problem}", "work stands still", f"restart the {component}"
            )
    if facts.dags is None:
        return
    for file, error in facts.dags.import_errors.items():
        yield Finding(
            Level.ERROR,
            f"Airflow cannot import {file}: {error}",
            "the DAGs of that file are missing, or are those of before",
            f"python {file}   (with Airflow's environment: it shows the whole error)",
        )
    for dag in sorted(_DAGS - facts.dags.found):
        yield Finding(
            Level.ERROR,
            f"Airflow has no DAG {dag}",
            "no such action can be created",
            "AIRFLOW__CORE__DAGS_FOLDER=…   (what `slipway dags path` prints; for all but API servers)",
        )
    for dag in sorted(_DAGS & facts.dags.paused):
        yield Finding(
            Level.ERROR,
            f"the DAG {dag} is paused in Airflow",
            "its runs wait until somebody unpauses it",
            f"airflow dags unpause {dag}",
        )


def _checks(facts: Facts) -> Iterator[Finding]:
    if facts.checks is None or not facts.controller_leads:
        return
    for check in facts.checks:
        # What was asked just now says it better.
        known = (check.subject.startswith(_PROVISIONER) and facts.provisioners is not None) or (
            check.subject.startswith(_COMPONENT) and facts.health is not None
        )
        if check.problem is None or known:
            continue
        since = f"since {check.since:%Y-%m-%d %H:%M:%S} UTC"
        if check.subject == RIGHTS or "403" in check.problem:
            why, fix = "dead actions are not closed, or people are not told", "slipway controller-role"
        elif check.subject.startswith(_PROVISIONER):
            site = check.subject.removeprefix(_PROVISIONER)
            why = "no action on the site can begin"
            fix = _connection(site)
        elif check.subject.startswith(DESIGN):
            why = "drift of its nodes is not found, and none of them is asked how it is"
            fix = f"{SLIPWAY_STORE_KEYS_FILE.name}=…   (for the controllers, as for API servers; then restart them)"
        else:
            why, fix = "the controller cannot do that part of its work", "the controller's log has more"
        yield Finding(Level.ERROR, f"{check.subject}: {check.problem} ({since})", why, fix)


def _agents(facts: Facts) -> Iterator[Finding]:
    for site, nodes in facts.unnamed.items():
        named = f"{', '.join(nodes[:_MOST_NAMED])}{', …' if len(nodes) > _MOST_NAMED else ''}"
        yield Finding(
            Level.WARNING,
            f"{'1 node' if len(nodes) == 1 else f'{len(nodes)} nodes'} of site {site} sign by version 1 ({named})",
            "such an answer does not name its node: another node's, at a wrong address or from between, passes for it",
            f"put the present agent on {'it' if len(nodes) == 1 else 'them'}; then {SLIPWAY_NODE_SIGNATURES.name}=2   "
            "(for controllers, workers and triggerers)",
        )


def _connection(site: str) -> str:
    return f"connection slipway_provisioner_{site}, or slipway_provisioner, in Airflow   (its Test says what is wrong)"


def _looked_at(facts: Facts) -> Iterator[str]:
    if facts.store_problem is None:
        number = len(facts.counted())
        noted = f"what {number} process{'' if number == 1 else 'es'} noted ({places(facts.counted())})"
        yield f"the store, {f'and {noted}' if number else 'in which no running process is noted'}"
    if facts.server is not None:
        yield "the store's PostgreSQL" + (", through a pooler" if facts.server.is_pooled else "")
    if facts.checks is not None and facts.controller_leads:
        yield "the controller's checks"
    if facts.health is not None:
        yield "Airflow's health"
    if facts.dags is not None:
        yield "Airflow's DAGs"
    if facts.provisioners is not None:
        number = len(facts.provisioners)
        yield f"the provisioners of {number} site{'' if number == 1 else 's'}"


def _not_looked_at(facts: Facts) -> Iterator[str]:
    if facts.store_problem is not None:
        return
    if old := facts.old_workers():
        yield f"{places(old)}: no task has run there since the schedulers were started"
    elif facts.uses_celery and not facts.counted("worker"):
        yield "workers: no task of Slipway's has run yet"
    if facts.checks is not None and not facts.controller_leads:
        yield "the controller's checks: no controller leads"
    if facts.server is not None and facts.server.is_pooled:
        yield "PostgreSQL's connections: a pooler stands before it"
    yield "free space of PostgreSQL's disk: it does not tell"
