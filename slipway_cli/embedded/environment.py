"""The environment variables that make Airflow what Slipway needs, and the secrets in them; there is no airflow.cfg.

What any installation needs, with the reasons, is in `strategy_lib/airflow_settings.py`.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from provisioner_client.private_files import write_private
from site_store.sql.sealing import KEYS_FILE
from slipway_cli import SlipwayCliError
from slipway_cli.embedded.postgres import AIRFLOW, STORE
from slipway_cli.embedded.processes import MARK
from slipway_cli.embedded.settings import LOOPBACK, EmbeddedSettings
from strategy_lib.airflow_settings import values_to_use
from strategy_lib.settings import (
    SLIPWAY_ADMIN_PASSWORD,
    SLIPWAY_DATABASE_URL,
    SLIPWAY_PORT,
    SLIPWAY_SERVICE_PASSWORD,
    SLIPWAY_SERVICE_PASSWORD_FILE,
    SLIPWAY_SERVICE_USER,
    SLIPWAY_STORE_KEYS_FILE,
    SLIPWAY_URL,
    SLIPWAY_VIEWER_PASSWORD,
)

PASSWORDS = {"admin": SLIPWAY_ADMIN_PASSWORD, "viewer": SLIPWAY_VIEWER_PASSWORD}
"""Of the users that are people, each named as its role in Airflow: the setting with the password."""
SERVICE_ROLE = "user"
"""The role of Slipway's own account: it reads, and starts runs of the DAG `notify`, which a viewer may not."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Secrets shared by the components, and the passwords of the users.

    `given` names the users whose password came from the environment and is therefore not to be printed.
    `service_password` is that of Slipway's own account, which no person uses.
    """

    jwt_secret: str
    api_secret_key: str
    fernet_key: str
    passwords: Mapping[str, str]
    given: frozenset[str]
    service_password: str

    def __repr__(self) -> str:
        return f"Credentials(users={sorted(self.passwords)})"


def _read(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    try:
        data = json.loads(path.read_text(encoding="utf-8") or "{}")
    except ValueError:
        data = None
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        raise SlipwayCliError(f"{path} is damaged; remove it, and new values are made at the next start")
    return data


def _new_key() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()


def new_secrets() -> dict[str, str]:
    """Make the secrets that Airflow's processes share, by the names that they have in `Credentials`."""
    return {
        "jwt_secret": secrets.token_urlsafe(64),
        "api_secret_key": secrets.token_urlsafe(32),
        "fernet_key": _new_key(),
    }


def as_variables(sections: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the environment variables of settings of Airflow's, given by section and option."""
    return {f"AIRFLOW__{s}__{key}": value for s, options in sections.items() for key, value in options.items()}


def load_or_create(secrets_file: Path, passwords_file: Path, environ: Mapping[str, str]) -> Credentials:
    """Read both files and make what is missing; so are the keys of the store, in a file beside the secrets.

    A password from SLIPWAY_ADMIN_PASSWORD, SLIPWAY_VIEWER_PASSWORD or SLIPWAY_SERVICE_PASSWORD replaces the one in
    the file.

    Raises `SlipwayCliError`: a file is damaged.
    """
    keys = _read(secrets_file)
    made = new_secrets() | keys
    if made != keys:
        write_private(secrets_file, json.dumps(made, indent=1))
    store_keys = secrets_file.with_name(KEYS_FILE)
    if not store_keys.exists():
        write_private(store_keys, f"{_new_key()}\n")
    kept = _read(passwords_file)
    passwords = {user: kept.get(user) or secrets.token_urlsafe(9) for user in PASSWORDS}
    given = set()
    for user, setting in PASSWORDS.items():
        if password := setting.read(environ):
            passwords[user] = password
            given.add(user)
    own = SLIPWAY_SERVICE_USER.default
    service = SLIPWAY_SERVICE_PASSWORD.read(environ) or kept.get(own) or secrets.token_urlsafe(32)
    # Always rewritten: Airflow itself opens the file for appending, and a file made by others might not be private.
    write_private(passwords_file, json.dumps(passwords | {own: service}))
    return Credentials(**made, passwords=passwords, given=frozenset(given), service_password=service)


HEARTBEAT = 2
"""Seconds between heartbeats of the components."""
COMPONENT_LOST_AFTER = 15
"""Seconds without a heartbeat after which a scheduler, triggerer or dag processor counts as dead."""


def airflow_environment(
    settings: EmbeddedSettings,
    credentials: Credentials,
    port: int,
    database: Callable[[str], str],
    environ: Mapping[str, str],
) -> dict[str, str]:
    """Build the whole environment of a component.

    Parameters
    ----------
    port : the API server's port (never 0 here).
    database : gives the URL of a database of the embedded PostgreSQL.
    environ : the caller's environment. Its AIRFLOW* variables are dropped: they belong to some other Airflow, and
        following them could migrate somebody's production database.
    """
    env = {name: value for name, value in environ.items() if not name.startswith(("AIRFLOW", "_AIRFLOW"))}
    # Airflow writes no bytecode with these set, and every start would compile thousands of files anew.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    loopback = f"localhost,{LOOPBACK}"
    for name in ("no_proxy", "NO_PROXY"):
        env[name] = f"{env[name]},{loopback}" if env.get(name) else loopback
    # Only the controller gets these: tasks run in this environment.
    for account in (SLIPWAY_SERVICE_PASSWORD, SLIPWAY_SERVICE_USER, SLIPWAY_SERVICE_PASSWORD_FILE):
        env.pop(account.name, None)
    env |= settings.to_environment()
    # A key of its own, and none of Airflow's: the controller gets it, too.
    env.setdefault(SLIPWAY_STORE_KEYS_FILE.name, str(settings.home / KEYS_FILE))
    # Each thread of the API server would keep memory of its own, which no other gets back.
    env.setdefault("MALLOC_ARENA_MAX", "2")
    env |= {
        SLIPWAY_DATABASE_URL.name: settings.database_url or database(STORE),
        MARK: str(settings.home),
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",
        SLIPWAY_PORT.name: str(port),
        SLIPWAY_URL.name: f"http://{LOOPBACK}:{port}",
        "AIRFLOW_HOME": str(settings.airflow_home),
    }
    # What any installation needs; then what is so on one machine alone.
    for sections in (values_to_use(celery=False), _sections(settings, credentials, port, database(AIRFLOW))):
        env |= as_variables(sections)
    return env | dict(settings.overrides)


def controller_environment(environment: Mapping[str, str], credentials: Credentials) -> dict[str, str]:
    """Return the controller's environment from that of Airflow's components: its account, and none of their secrets."""
    own = {name: value for name, value in environment.items() if "AIRFLOW__" not in name}
    account = {SLIPWAY_SERVICE_PASSWORD.name: credentials.service_password}
    return {**own, SLIPWAY_SERVICE_USER.name: SLIPWAY_SERVICE_USER.default, **account}


def _sections(
    settings: EmbeddedSettings, credentials: Credentials, port: int, database: str
) -> dict[str, dict[str, str]]:
    users = {**{user: user for user in PASSWORDS}, SLIPWAY_SERVICE_USER.default: SERVICE_ROLE}
    plugins = settings.plugins_folder or settings.airflow_home / "plugins"
    bundle = {
        "name": "slipway",
        "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle",
        "kwargs": {"path": str(settings.dags_folder)},
    }
    return {
        "CORE": {
            "EXECUTOR": "LocalExecutor",
            "PARALLELISM": "4",
            "DAGS_FOLDER": str(settings.dags_folder),
            "PLUGINS_FOLDER": str(plugins),
            "DAGS_ARE_PAUSED_AT_CREATION": "False",
            "FERNET_KEY": credentials.fernet_key,
            "EXECUTION_API_SERVER_URL": f"http://{LOOPBACK}:{port}/execution/",
            "MIN_SERIALIZED_DAG_UPDATE_INTERVAL": "0",
            "SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{user}:{role}" for user, role in users.items()),
            "SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(settings.passwords_file),
            # The default looks the machine's name up in the DNS, which can take seconds and leads off loopback.
            "HOSTNAME_CALLABLE": "slipway_cli.embedded.settings.loopback",
            # The button "Test" of a connection is off by default.
            "TEST_CONNECTION": "Enabled",
        },
        # psycopg 3 is both: without the second setting Airflow would look for an asynchronous driver.
        "DATABASE": {
            "SQL_ALCHEMY_CONN": database,
            "SQL_ALCHEMY_CONN_ASYNC": database,
        },
        "API": {
            "HOST": LOOPBACK,
            "PORT": str(port),
            "BASE_URL": f"http://{LOOPBACK}:{port}",
            "SECRET_KEY": credentials.api_secret_key,
        },
        "API_AUTH": {"JWT_SECRET": credentials.jwt_secret},
        "LOGGING": {
            "BASE_LOG_FOLDER": str(settings.logs / "tasks"),
            # Its defaults let the group write, whatever the umask is.
            "FILE_TASK_HANDLER_NEW_FOLDER_PERMISSIONS": "0o700",
            "FILE_TASK_HANDLER_NEW_FILE_PERMISSIONS": "0o600",
            # Log servers would listen on all interfaces, so none is started. Port 9 (discard) is refused at once.
            "WORKER_LOG_SERVER_PORT": "9",
            "TRIGGER_LOG_SERVER_PORT": "9",
            # It reports with a traceback, at every look at a running task's log, that there is no log server.
            "NAMESPACE_LEVELS": "airflow.utils.log.file_task_handler=CRITICAL",
        },
        "USAGE_DATA_COLLECTION": {"ENABLED": "False"},
        "SCHEDULER": {
            "JOB_HEARTBEAT_SEC": str(HEARTBEAT),
            "SCHEDULER_HEARTBEAT_SEC": str(HEARTBEAT),
            # Tasks of a scheduler that was killed are started again by its successor.
            "ORPHANED_TASKS_CHECK_INTERVAL": "5",
            "SCHEDULER_IDLE_SLEEP_TIME": "0.25",
            "ENABLE_HEALTH_CHECK": "False",
        },
        "TRIGGERER": {"JOB_HEARTBEAT_SEC": str(HEARTBEAT)},
        "DAG_PROCESSOR": {
            "DAG_BUNDLE_STORAGE_PATH": str(settings.airflow_home / "bundles"),
            "DAG_BUNDLE_CONFIG_LIST": json.dumps([bundle]),
            "REFRESH_INTERVAL": "10",
            # A file that was changed is read at once, whatever stands here.
            "MIN_FILE_PROCESS_INTERVAL": "120",
            "BUNDLE_REFRESH_CHECK_INTERVAL": "1",
            "HEALTH_CHECK_THRESHOLD": str(COMPONENT_LOST_AFTER),
            "PRINT_STATS_INTERVAL": "0",
        },
    }
