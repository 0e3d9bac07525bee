"""Which room may import which: the table of docs/architecture.md, held to the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.conftest import ROOT

# From the top down: a room imports rooms below it only, so that there can be no circle between two.
ROOMS = {
    "slipway_dags": "dags",
    "slipway_airflow": "plugins/slipway_airflow",
    "slipway_api": "plugins/slipway_api",
    "slipway_cli": "slipway_cli",
    "api_client": "api_client",
    "site_engine": "site_engine",
    "site_store": "site_store",
    "provisioner_client": "provisioner_client",
    "design_rendering": "design_rendering",
    "strategy_lib": "strategy_lib",
    "slipway_schemas": "schemas",
}
ORDER = list(ROOMS)
PURE = {"design_rendering", "strategy_lib", "slipway_schemas"}
# Rooms that may import less than all that is below them.
MAY_IMPORT = {
    "slipway_dags": {"slipway_airflow"},
    "slipway_airflow": {"slipway_api", "api_client", "site_engine", "site_store", "provisioner_client"} | PURE,
    "slipway_api": {"api_client", "site_engine", "site_store", "provisioner_client"} | PURE,
    "slipway_cli": {
        "api_client",
        "site_engine",
        "site_store",
        "provisioner_client",
        "design_rendering",
        "strategy_lib",
    },
    "api_client": {"site_engine"},
    "site_store": PURE,
    "provisioner_client": PURE,
}
# From the top down: the floors of a room. A package or module of it imports those of floors below its own only.
FLOORS = {
    "strategy_lib": (
        "reports simulation",
        "deployment goals parsing warnings",
        "groups node_states",
        "actors selectors status verdict",
        "airflow_settings node ordering",
        "outcome settings strategy",
        "did_you_mean drawing errors folded_names garbage node_condition phase",
    ),
    "provisioner_client": (
        "factory",
        "drydock ironic maas",
        "piecewise tokens",
        "connection http_session ironic_server site_documents",
        "http_errors http_settings shared_lists",
        "redacting simulator",
        "node_agent protocol",
        "designs errors finite_range private_files references",
    ),
    "site_store": (
        "__main__ store",
        "backups groups node_table restoring trees",
        "actions",
        "designs operations",
        "nodes",
        "migrations status",
        "records sql tables",
    ),
    "site_engine": (
        "controller doctor",
        "actions trees",
        "groups",
        "extensions operations plans wishes",
        "admission monitoring node_states redaction shared_lists",
        "designs parameters process provisioners",
        "errors kinds log_messages node_lists version watchers",
    ),
    "slipway_cli": (
        "__main__",
        "doctor main offline up",
        "demo online",
        "help terminal",
        "controller controller_role embedded output",
        "files folding_table options",
    ),
    "slipway_airflow": (
        "site_dag",
        "operators",
        "group_trigger",
        "plugin triggers",
        "hook process_environment",
        "airflow_stats connections group_driving provider unfinished_tasks",
    ),
    "design_rendering": (
        "validation",
        "policies",
        "changes design rendering",
        "deckhand kinds",
        "redaction",
        "reading",
        "drydock_kinds slipway_kinds",
    ),
    "slipway_api": (
        "app",
        "pages",
        "controller keystone status",
        "actions",
        "sites",
        "documents",
        "http",
    ),
    "api_client": ("airflow airflow_health airflow_rights slipway", "log_lines session webhook"),
}
MOST_FLOORS = 8
FRAMEWORKS = {"airflow", "fastapi", "starlette", "sqlalchemy", "alembic"}
MAY_USE = {
    "slipway_dags": {"airflow"},
    "slipway_airflow": {"airflow"},
    "slipway_api": {"airflow", "fastapi", "starlette"},
    "slipway_cli": {"sqlalchemy"},
    "site_store": {"sqlalchemy", "alembic"},
}


@cache
def imports(room: str) -> tuple[tuple[Path, str], ...]:
    """Return each import of a room, also those inside functions: its file, and the module's whole name."""
    return tuple((path, name) for path in sorted((ROOT / ROOMS[room]).rglob("*.py")) for name in imported_by(path))


@cache
def tree_of(path: Path) -> ast.Module:
    """Return a file as Python reads it."""
    return ast.parse(path.read_text(), str(path))


def imported_by(path: Path) -> Iterator[str]:
    """Yield the whole names of the modules that a file imports."""
    for found in ast.walk(tree_of(path)):
        if isinstance(found, ast.Import):
            yield from (alias.name for alias in found.names)
        elif isinstance(found, ast.ImportFrom):
            assert found.level == 0, f"{path}: relative imports hide which room is meant"
            assert found.module
            yield from (f"{found.module}.{alias.name}" for alias in found.names)


@pytest.mark.parametrize("room", ORDER)
def test_a_room_imports_rooms_below_it_only(room: str) -> None:
    below = set(ORDER[ORDER.index(room) + 1 :])
    allowed = MAY_IMPORT.get(room, below) | {room}
    assert allowed <= below | {room}, "the table itself points up"
    wrong = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path, name in imports(room)
        if name.partition(".")[0] in set(ROOMS) - allowed
    }
    assert wrong == set()
    assert imports(room) or room == "slipway_schemas"


@pytest.mark.parametrize("room", [room for room in ORDER if room != "slipway_schemas"])
def test_no_module_of_a_room_imports_itself_by_way_of_others(room: str) -> None:
    """Imports inside functions and for types alone count: a circle that is hidden is one all the same."""
    modules = {module_name(room, path): path for path in (ROOT / ROOMS[room]).rglob("*.py")}
    needs = {
        module: {
            found
            for name in imported_by(path)
            if (found := name if name in modules else name.rpartition(".")[0]) in modules and found != module
        }
        for module, path in modules.items()
    }
    assert len(modules) > 1
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize("room", FLOORS)
def test_within_a_room_imports_point_to_lower_floors_only(room: str) -> None:
    floors = [set(floor.split()) for floor in FLOORS[room]]
    assert len(floors) <= MOST_FLOORS
    level = {unit: number for number, floor in enumerate(floors) for unit in floor}
    own = {unit for path in (ROOT / ROOMS[room]).rglob("*.py") if (unit := unit_of(module_name(room, path)))}
    assert own == set(level)
    wrong = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path, name in imports(room)
        if (mine := unit_of(module_name(room, path))) and name.startswith(f"{room}.")
        if (theirs := unit_of(name)) in level and theirs != mine and level[theirs] <= level[mine]
    }
    assert wrong == set()


def unit_of(module: str) -> str:
    """Return the package or module of a room that a module belongs to; "" for the room itself."""
    return [*module.split("."), ""][1]


def module_name(room: str, path: Path) -> str:
    """Return the whole name of the module in a file of a room."""
    parts = (room, *path.relative_to(ROOT / ROOMS[room]).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("room", ORDER)
def test_a_room_uses_the_frameworks_that_are_its_own(room: str) -> None:
    """The engine and the domain use none: they run in an Airflow task, in the API server and without either."""
    wrong = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path, name in imports(room)
        if name.partition(".")[0] in FRAMEWORKS - MAY_USE.get(room, set())
    }
    assert wrong == set()


def test_the_api_imports_airflow_in_one_module() -> None:
    touching = {path.name for path, name in imports("slipway_api") if name.partition(".")[0] == "airflow"}
    assert touching == {"airflow_access.py"}


def test_a_backend_is_known_to_the_factory_alone() -> None:
    """So that every provisioner redacts, and a new backend is one package and one row."""
    knowing = {
        str(path.relative_to(ROOT))
        for room in ORDER
        for path, name in imports(room)
        if name.startswith("provisioner_client.drydock") and "provisioner_client/drydock" not in str(path)
    }
    assert knowing == {"provisioner_client/factory.py"}


KNOWS_IRONIC = {
    # the connection type, its form and its "Test"; what the command line asks for it
    "plugins/slipway_airflow/hook.py",
    "plugins/slipway_airflow/provider.py",
    "slipway_cli/online/server/connections.py",
    # the import
    "plugins/slipway_api/sites/imports.py",
    "slipway_cli/online/documents/import_site.py",
    # the demo, and the embedded one of `slipway up`
    "slipway_cli/demo/command.py",
    "slipway_cli/demo/order.py",
    "slipway_cli/demo/provisioner_connection.py",
    "slipway_cli/demo/simulated_provisioner.py",
    "slipway_cli/up.py",
}


def test_nothing_is_decided_about_ironic_above_its_backend() -> None:
    above = ORDER[: ORDER.index("provisioner_client")]
    files = {path for room in above for path in (ROOT / ROOMS[room]).rglob("*.py")}
    knowing = {str(path.relative_to(ROOT)) for path in files if "ironic" in path.read_text().lower()}
    assert knowing == KNOWS_IRONIC


def test_who_makes_documents_knows_the_backends_by_the_factory() -> None:
    knowing = {
        str(path.relative_to(ROOT))
        for room in ORDER[: ORDER.index("provisioner_client")]
        for path, name in imports(room)
        if name.startswith(("provisioner_client.ironic.", "provisioner_client.maas.", "provisioner_client.drydock."))
    }
    assert knowing == set()


LOADED_WHEN_CALLED = (
    "provisioner_client.simulator",
    "provisioner_client.ironic_server",
    "slipway_cli.embedded",
    "slipway_cli.demo",
)
# The command `slipway up`, which is imported when it is called.
MAY_LOAD_THEM = (*LOADED_WHEN_CALLED, "slipway_cli.up")


def test_simulators_and_the_embedded_server_are_loaded_by_the_commands_that_need_them() -> None:
    """Imports inside functions are free: what counts is what an import of the module loads."""
    wrong = {
        f"{path.relative_to(ROOT)} imports {name}"
        for room in ORDER
        for path in sorted((ROOT / ROOMS[room]).rglob("*.py"))
        if not is_within(module_name(room, path), MAY_LOAD_THEM)
        for name in imported_at_once(tree_of(path).body)
        if is_within(name, LOADED_WHEN_CALLED)
    }
    assert wrong == set()


def is_within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def imported_at_once(statements: list[ast.stmt]) -> Iterator[str]:
    """Yield the whole names of what these statements import, those inside of others left out."""
    for statement in statements:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            yield from (f"{statement.module}.{alias.name}" for alias in statement.names)


def test_what_is_decided_is_decided_by_the_clock_of_the_database() -> None:
    asked = {
        path.name
        for folder in ("site_engine", "plugins/slipway_airflow")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "datetime.now(" in path.read_text()
    }
    # The first shows times of a provisioner beside its own; the others tell Airflow when to start a task again.
    assert asked == {"provisioner_tasks.py", "action.py", "base.py", "group.py", "waiting.py"}


def test_no_name_is_imported_for_the_type_checker_and_again_at_runtime() -> None:
    twice = []
    for folder in ROOMS.values():
        for path in sorted((ROOT / folder).rglob("*.py")):
            tree = tree_of(path)
            checked = [
                node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
            ]
            names = {name for node in checked for name in imported_names(node.body)}
            twice += [f"{path}: {name}" for name in imported_names(tree.body) if name in names]
    assert twice == []


def imported_names(statements: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that these statements import, those inside of others left out."""
    for statement in statements:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in statement.names)
