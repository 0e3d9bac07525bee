"""What is wrong with settings: values of Airflow's, addresses, servers of task logs, connections of databases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from site_engine.doctor.facts import Facts, Finding, Level, places, settings_of
from site_store import ProcessRecord, Role
from strategy_lib.airflow_settings import SETTINGS, variable
from strategy_lib.settings import SLIPWAY_URL

_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_BASE, _EXECUTION = "api.base_url", "core.execution_api_server_url"
_OF_STORE: Final = 28
"""Connections that a process may open to the store: 8 that it keeps, and 20 more."""
_OTHERS: Final = 30
"""Connections of all that is not counted: schedulers, DAG processors, command lines."""


def judge_settings(facts: Facts) -> Iterator[Finding]:
    """Yield what is wrong with the settings of the processes that run."""
    yield from _values(facts)
    yield from _addresses(facts)
    yield from _logs(facts)
    yield from _logins(facts)
    yield from _connections(facts)


def _values(facts: Facts) -> Iterator[Finding]:
    for row in SETTINGS:
        if row.celery and not facts.uses_celery:
            continue
        wrong: dict[str, list[ProcessRecord]] = {}
        for one in facts.counted(*row.read_by):
            value = settings_of(one).get(row.name)
            if value is not None and not row.is_good(value):
                wrong.setdefault(value, []).append(one)
        for value, found in wrong.items():
            yield Finding(
                Level.ERROR if row.breaks else Level.WARNING,
                f"[{row.section}] {row.option} is {value} for {places(found)}; wanted: {row.wanted}",
                row.why,
                f"{row.line()}   (for {places(found)}; then restart)",
            )


def _addresses(facts: Facts) -> Iterator[Finding]:
    for one in _one_a_value(facts.counted(Role.API_SERVER, Role.WORKER), SLIPWAY_URL.name):
        if SLIPWAY_URL.name not in settings_of(one):
            yield Finding(
                Level.ERROR,
                f"{SLIPWAY_URL.name} is not set for the {one.role} on {one.host}",
                "the provisioner is told an address at which it cannot fetch the design",
                f"{SLIPWAY_URL.name}=http://…:8080   (the internal address of the API servers, for all processes)",
            )
    for one in _one_a_value(facts.counted(Role.API_SERVER, Role.SCHEDULER, Role.WORKER), _BASE):
        settings = settings_of(one)
        base, execution = settings.get(_BASE, ""), settings.get(_EXECUTION, "")
        inner = settings.get(SLIPWAY_URL.name, "")
        if base and inner and not execution and _host(base) != _host(inner):
            yield Finding(
                Level.ERROR,
                f"[api] base_url is {base}, [core] execution_api_server_url is not set, for {one.role} on {one.host}",
                "tasks reach the API server by its public address: a login page or a certificate there stops them",
                f"{variable(_EXECUTION)}={inner.rstrip('/')}/execution/   (for schedulers, API servers and workers)",
            )
        if len(facts.hosts) > 1 and _host(execution or base) in _LOOPBACK:
            yield Finding(
                Level.ERROR,
                f"tasks reach the API server at {execution or base}, for {one.role} on {one.host}",
                "that is each machine itself: a task on a machine without an API server cannot begin",
                f"{variable(_EXECUTION)}=http://…:8080/execution/   (the internal address of the API servers)",
            )


def _logs(facts: Facts) -> Iterator[Finding]:
    if any(settings_of(one).get("logging.remote_logging", "").lower() == "true" for one in facts.counted()):
        return
    for one in facts.counted(Role.API_SERVER):
        for server, problem in one.environment.get("log_servers", {}).items():
            if problem is not None:
                host, _, port = server.rpartition(":")
                yield Finding(
                    Level.WARNING,
                    f"the API server on {one.host} does not reach the server of task logs {server}: {problem}",
                    "logs of running tasks are not shown, and those of ended ones neither",
                    f"let {one.host} resolve {host} and open port {port} there; or "
                    f"{variable('core.hostname_callable')}=airflow.utils.net.get_host_ip_address   (on {host})",
                )
    if len(facts.hosts) < 2:
        return
    for one in facts.counted(Role.WORKER, Role.TRIGGERER):
        if one.environment.get("hostname") in _LOOPBACK:
            yield Finding(
                Level.WARNING,
                f"the {one.role} on {one.host} calls itself {one.environment['hostname']}",
                "the API server looks for its logs of tasks on its own machine",
                f"{variable('core.hostname_callable')}=airflow.utils.net.get_host_ip_address   (on {one.host})",
            )


def _logins(facts: Facts) -> Iterator[Finding]:
    servers = facts.counted(Role.API_SERVER)
    simple = [one for one in servers if "SimpleAuthManager" in settings_of(one).get("core.auth_manager", "")]
    if len({one.host for one in simple}) > 1:
        yield Finding(
            Level.WARNING,
            f"[core] auth_manager is SimpleAuthManager for {places(simple)}",
            "its passwords stand in a file of each machine, in clear: they are not the same everywhere",
            f"{variable('core.auth_manager')}=airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager",
        )


def _connections(facts: Facts) -> Iterator[Finding]:
    servers = facts.counted(Role.API_SERVER)
    if facts.server is None or facts.server.is_pooled or not servers:
        return
    users = len(facts.counted(Role.API_SERVER, Role.TRIGGERER, Role.CONTROLLER))
    slots = (
        sum(_whole(one, "celery.worker_concurrency") for one in facts.counted(Role.WORKER)) if facts.uses_celery else 0
    )
    slots = slots or max((_whole(one, "core.parallelism") for one in facts.counted(Role.SCHEDULER)), default=0)
    needed = _OF_STORE * users + slots
    both = any(len(set(places_of.values())) < len(places_of) for places_of in map(_servers, servers))
    if both:
        pools = [
            _whole(one, "database.sql_alchemy_pool_size") + _whole(one, "database.sql_alchemy_max_overflow")
            for one in servers
        ]
        needed += sum(pools) + slots + _OTHERS
    if facts.server.max_connections < needed:
        yield Finding(
            Level.WARNING,
            f"the store's PostgreSQL allows {facts.server.max_connections} connections; processes may take {needed}",
            "who comes last is refused: requests and tasks fail while others have many connections open",
            f"ALTER SYSTEM SET max_connections = {needed};   (then restart it; or put PgBouncer before it)",
        )


def _servers(one: ProcessRecord) -> dict[str, str]:
    found: dict[str, str] = one.environment.get("servers", {})
    return found


def _one_a_value(processes: Sequence[ProcessRecord], name: str) -> list[ProcessRecord]:
    """Return one process for each role, host and value of a setting: several on a machine have one cause."""
    return list({(one.role, one.host, settings_of(one).get(name)): one for one in processes}.values())


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _whole(one: ProcessRecord, name: str) -> int:
    text = settings_of(one).get(name, "")
    return int(text) if text.isdecimal() else 0
