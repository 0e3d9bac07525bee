"""What is wrong with the processes: who is missing or silent, and what differs between those that must be alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from site_engine.doctor.facts import Facts, Finding, Level, places, settings_of
from site_store import ProcessRecord, Role
from strategy_lib.airflow_settings import KEYS, RESULT_BACKEND, RESULTS_UNSEEN, variable
from strategy_lib.settings import SLIPWAY_STORE_KEYS_FILE

_NEEDED: Final = {
    Role.API_SERVER: ("airflow api-server", "nobody can be served, and no task can begin"),
    Role.SCHEDULER: ("airflow scheduler", "no task is started"),
    Role.DAG_PROCESSOR: ("airflow dag-processor", "Slipway's DAGs are not found"),
    Role.TRIGGERER: ("airflow triggerer", "a group that waits is never gone on with"),
    Role.CONTROLLER: ("slipway controller", "dead actions are not closed, and nobody looks at the nodes"),
}
_OLDEST_BAD_CELERY: Final = (5, 7)
_LEEWAY: Final = 10
"""Seconds that a token may be ahead of the API server's clock, by Airflow's default."""
_LEAST_FREE_MB: Final = 1_000
_LEAST_FREE_SHARE: Final = 0.05
_NOTHING_FREE_MB: Final = 200
_FITTING: Final = (
    "slipway constraints > constraints.txt; pip install -c constraints.txt 'slipway[celery,redis]' 'celery<5.7'"
)
_TASK_MB: Final = 100
"""Memory of a task's process, at most."""


def judge_processes(facts: Facts) -> Iterator[Finding]:
    """Yield what is wrong with the processes that run, or should."""
    yield from _missing(facts)
    yield from _executor(facts)
    yield from _frozen(facts)
    yield from _versions(facts)
    yield from _keys(facts)
    yield from _bundles(facts)
    yield from _dags_alike(facts)
    yield from _clocks(facts)
    yield from _celery(facts)
    yield from _results(facts)
    yield from _disks(facts)


def _missing(facts: Facts) -> Iterator[Finding]:
    frozen = {one.role for one in facts.frozen()}
    for role, (command, why) in _NEEDED.items():
        if facts.counted(role) or role in frozen:
            continue
        healthy = facts.health is not None and role in facts.health and facts.health[role] is None
        if healthy:
            yield Finding(
                Level.ERROR,
                f"a {role} runs, by what Airflow says, and Slipway does not know of it",
                "Slipway is not installed there, or that process does not reach the store",
                f"install Slipway there, and set SLIPWAY_DATABASE_URL for `{command}` as here; then restart it",
            )
        else:
            yield Finding(Level.ERROR, f"no {role} runs", why, f"{command}   (where it ends at once, its log says why)")


def _executor(facts: Facts) -> Iterator[Finding]:
    found = _grouped(facts.counted(Role.API_SERVER), lambda one: one.environment.get("executor_problem"))
    for problem, servers in found.items():
        if problem is not None:
            yield Finding(
                Level.ERROR,
                f"[core] executor cannot be imported, as {places(servers)} says: {problem}",
                "schedulers and workers end when they start",
                _FITTING,
            )


def _frozen(facts: Facts) -> Iterator[Finding]:
    for one in facts.frozen():
        # Of controllers one leads, and the others wait: what the silent one did, another does.
        spare = one.role == Role.CONTROLLER and facts.controller_leads and facts.counted(Role.CONTROLLER)
        gone = "one that was taken away for good is forgotten after a day"
        yield Finding(
            Level.WARNING if spare else Level.ERROR,
            f"the {one.role} on {one.host} (process {one.pid}) is silent for {one.silent_for(facts.now):.0f} s"
            + (f"; {places(facts.counted(Role.CONTROLLER))} leads or waits" if spare else ""),
            "it is frozen, was killed, or does not reach the store",
            f"on {one.host}: restart the {one.role}; {gone}"
            + (", and nothing is to be done until then" if spare else ""),
        )


def _versions(facts: Facts) -> Iterator[Finding]:
    here = facts.counted()
    versions = _grouped(here, lambda one: one.version)
    if set(versions) - {facts.version} or len(versions) > 1:
        said = [f"{version} ({places(found)})" for version, found in versions.items()]
        yield Finding(
            Level.ERROR,
            f"different versions of Slipway run: {'; '.join(said)}; this command is {facts.version}",
            "they may read and write the store in different ways",
            f"pip install slipway-{facts.version}-*.whl   (where there is another one; then restart what runs there)",
        )
    schemas = _grouped(here, lambda one: one.store_schema)
    for schema, found in schemas.items():
        if schema != facts.schema:
            yield Finding(
                Level.ERROR,
                f"{places(found)}: works with schema {schema} of the store; the store has {facts.schema}",
                "it may not write, or will not understand what others write",
                "install this version there, and restart it",
            )


def _keys(facts: Facts) -> Iterator[Finding]:
    for key in KEYS:
        if key.name.startswith("celery.") and not facts.uses_celery:
            continue
        having = [one for one in facts.counted(*key.read_by) if "keys" in one.environment]
        values = _grouped(having, lambda one, name=key.name: tuple(one.environment["keys"].get(name, ())))  # type: ignore[misc]
        line = f"{key.variable}=…"
        if key.name == SLIPWAY_STORE_KEYS_FILE.name:
            line += f" or, where no such file is named, {variable('core.fernet_key')}=…"
        if missing := values.pop((), []):
            what = f"{key.label} is not set for {places(missing)}"
            yield Finding(
                Level.ERROR, what, key.why, f"{line}   (one value, the same for all: {', '.join(key.read_by)})"
            )
        if len(values) < 2:
            continue
        # Of a list the first one writes, and all read: while keys are changed, lists differ and each can read.
        readable = all(mine[0] in theirs for mine in values for theirs in values)
        (_, most), *others = sorted(values.items(), key=lambda item: -len(item[1]))
        rest = [one for _, found in others for one in found]
        yield Finding(
            Level.WARNING if readable else Level.ERROR,
            f"{key.label} is not the same everywhere: {places(rest)} differs from {places(most)}",
            key.why,
            f"{line}   (for {places(rest)}: the value of {places(most)}; then restart)",
        )


def _dags_alike(facts: Facts) -> Iterator[Finding]:
    reading = facts.counted(Role.DAG_PROCESSOR, Role.SCHEDULER, Role.WORKER)
    files = _grouped(reading, lambda one: one.environment.get("dags"))
    if len(files) < 2:
        return
    # A task's DAG is looked up by its bundle's name and its path within it, below the folder of each machine's own
    # bundle of that name: paths of folders may differ, such as by the version of Python.
    folders = _grouped(reading, lambda one: tuple(one.environment.get("dag_folders", ())))
    if len(folders) > 1:
        said = [f"{', '.join(paths)} ({places(found)})" for paths, found in folders.items()]
        yield Finding(
            Level.ERROR,
            f"the folders of DAGs hold different files: {'; '.join(said)}",
            "a worker does not find the DAG of its task, or another one than its scheduler takes it for",
            f"{variable('core.dags_folder')}=…   (what `slipway dags path` prints, on each of these machines; it need "
            "not be the same path)",
        )
    else:
        said = [places(found) for found in files.values()]
        yield Finding(
            Level.ERROR,
            f"the files of DAGs differ between {' and '.join(said)}",
            "a task is not what its scheduler takes it for",
            "pip install --force-reinstall slipway-*.whl   (the same wheel on all of these machines)",
        )


def _clocks(facts: Facts) -> Iterator[Finding]:
    comparing = facts.counted(Role.SCHEDULER, Role.API_SERVER)
    if not comparing:
        return
    leeways = [_number(settings_of(one), "api_auth.jwt_leeway") for one in facts.counted(Role.API_SERVER)]
    leeway = float(min(filter(None, leeways), default=_LEEWAY))
    first = min(comparing, key=lambda one: one.clock_offset)
    last = max(comparing, key=lambda one: one.clock_offset)
    apart = last.clock_offset - first.clock_offset
    if apart > leeway / 2:
        yield Finding(
            Level.ERROR if apart > leeway else Level.WARNING,
            f"the clocks of {first.role} on {first.host} and {last.role} on {last.host} are {apart:.1f} s apart",
            f"the API server refuses the tokens of all tasks above {leeway:g} s ([api_auth] jwt_leeway)",
            f"systemctl enable --now chrony   (on {', '.join(sorted({first.host, last.host}))})",
        )


def _celery(facts: Facts) -> Iterator[Finding]:
    if not facts.uses_celery:
        return
    for version, found in _grouped(facts.counted(), _celery_of).items():
        if version and _numbers(version)[:2] >= _OLDEST_BAD_CELERY:
            yield Finding(
                Level.ERROR,
                f"celery {version} is installed for {places(found)}",
                "Airflow's Celery provider cannot be imported with it: schedulers and workers end when they start",
                _FITTING,
            )
    for one in facts.counted(Role.WORKER):
        slots, memory = _number(settings_of(one), "celery.worker_concurrency"), one.environment.get("memory")
        if slots and memory and slots * _TASK_MB > memory:
            yield Finding(
                Level.WARNING,
                f"the worker on {one.host} takes {slots} tasks at once, and its machine has {memory} MB",
                f"each task is a process of up to {_TASK_MB} MB: the system kills some of them",
                f"{variable('celery.worker_concurrency')}={max(1, memory // _TASK_MB)}   (on {one.host})",
            )
    slots_of_all = sum(_number(settings_of(one), "celery.worker_concurrency") for one in facts.counted(Role.WORKER))
    for one in facts.counted(Role.SCHEDULER):
        if _number(settings_of(one), "core.parallelism") < slots_of_all:
            yield Finding(
                Level.WARNING,
                f"[core] parallelism of the scheduler on {one.host} is below the {slots_of_all} slots of workers",
                "workers stay idle while tasks wait",
                f"{variable('core.parallelism')}={slots_of_all}   (on {one.host})",
            )


def _results(facts: Facts) -> Iterator[Finding]:
    """Yield what is wrong with where Celery keeps its results; whether it is the same everywhere, `_keys` says."""
    if not facts.uses_celery:
        return
    line = f"{variable(RESULT_BACKEND)}=db+postgresql://…   (Airflow's database, the same for schedulers and workers)"
    having = facts.counted(Role.SCHEDULER, Role.WORKER)
    for value, found in _grouped(having, lambda one: settings_of(one).get(RESULT_BACKEND, "")).items():
        if "sqlite" in value:
            what = f"[celery] result_backend is a file of each machine ({value}), for {places(found)}"
            yield Finding(Level.ERROR, what, RESULTS_UNSEEN, line)
        elif value and not value.startswith("db+"):
            what = f"[celery] result_backend is no database ({value}), for {places(found)}"
            yield Finding(Level.WARNING, what, "how tasks ended is lost with it; Airflow warns of it, too", line)
    for one in facts.counted(Role.WORKER):
        if problem := one.environment.get("results_problem"):
            server = settings_of(one).get(RESULT_BACKEND, "")
            yield Finding(
                Level.ERROR,
                f"the worker on {one.host} does not reach [celery] result_backend, {server}: {problem}",
                RESULTS_UNSEEN,
                f"let {one.host} reach that server and port, or {line}",
            )


def _bundles(facts: Facts) -> Iterator[Finding]:
    """Yield workers that lack a bundle of the DAG processors: they look a task's DAG up by the bundle's name."""
    known = {name for one in facts.counted(Role.DAG_PROCESSOR) for name in one.environment.get("bundles", ())}
    running = facts.counted(Role.WORKER if facts.uses_celery else Role.SCHEDULER)
    lacking = _grouped(running, lambda one: tuple(sorted(known - set(one.environment.get("bundles", known)))))
    for names, found in lacking.items():
        if names:
            yield Finding(
                Level.ERROR,
                f"{places(found)} has no bundle of DAGs named {', '.join(names)}, which the DAG processor has",
                "a task's DAG is looked up by its bundle's name: each task of these fails there",
                f"{variable('dag_processor.dag_bundle_config_list')}=…   (for {places(found)}: the names of the DAG "
                "processor; the paths may be others)",
            )


def _disks(facts: Facts) -> Iterator[Finding]:
    seen = set()
    for one in facts.counted():
        for folder, (free, whole) in one.environment.get("disks", {}).items():
            if (one.host, folder) in seen or (free >= _LEAST_FREE_MB and free >= whole * _LEAST_FREE_SHARE):
                continue
            seen.add((one.host, folder))
            yield Finding(
                Level.ERROR if free < _NOTHING_FREE_MB else Level.WARNING,
                f"{folder} on {one.host} has {free} MB free of {whole}",
                "tasks cannot write their logs, and fail",
                f"airflow db clean; find {folder} -type f -mtime +30 -delete   (on {one.host}; or a larger disk)",
            )


def _grouped(processes: Sequence[ProcessRecord], key: Callable[[ProcessRecord], Any]) -> dict[Any, list[ProcessRecord]]:
    found: dict[Any, list[ProcessRecord]] = {}
    for one in processes:
        found.setdefault(key(one), []).append(one)
    return found


def _celery_of(one: ProcessRecord) -> str:
    found: Mapping[str, str] = one.environment.get("packages", {})
    return found.get("celery", "")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _number(settings: Mapping[str, str], name: str) -> int:
    text = settings.get(name, "")
    return int(text) if text.isdecimal() else 0
