"""Settings of Airflow that Slipway depends on: which value, and why. `slipway up` sets them, the doctor judges them.

Defaults are those of Airflow 3.3. What a setting does was measured with five machines (docs/production.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from strategy_lib.settings import SLIPWAY_STORE_KEYS_FILE

CELERY: Final = "CeleryExecutor"
RESULT_BACKEND: Final = "celery.result_backend"
"""Where Celery keeps how tasks ended. Without it Airflow takes its own database, which workers need not know."""
RESULTS_UNSEEN: Final = (
    "a scheduler takes tasks that ended for running ones: after [core] parallelism of them it starts none"
)
_EVERYWHERE: Final = ("api-server", "scheduler", "triggerer", "dag-processor", "worker")


def _at_most(most: float) -> Callable[[str], bool]:
    return lambda text: float(text) <= most


def _at_least(least: float) -> Callable[[str], bool]:
    return lambda text: float(text) >= least


def _says(word: str) -> Callable[[str], bool]:
    return lambda text: text.strip().lower() == word


@dataclass(frozen=True, slots=True)
class AirflowSetting:
    """One setting.

    Attributes
    ----------
    section, option : as in Airflow's configuration.
    default : Airflow's own value, as text.
    use : the value to set; of several that fit one that was tried.
    wanted : which values fit, in words.
    fits : whether a value fits. Raises `ValueError`: it is no such value.
    why : what happens with the default, a sentence.
    read_by : the roles of processes whose value counts.
    breaks : whether work fails with another value; else it waits for too long.
    celery : whether it counts with Celery's workers alone.
    """

    section: str
    option: str
    default: str
    use: str
    wanted: str
    fits: Callable[[str], bool]
    why: str
    read_by: tuple[str, ...] = ("scheduler",)
    breaks: bool = False
    celery: bool = False

    @property
    def name(self) -> str:
        """The name that processes note its value under."""
        return f"{self.section}.{self.option}"

    def line(self, value: str | None = None) -> str:
        """Return the environment variable that sets it, to a value or to the one that is to be used."""
        return f"{variable(self.name)}={self.use if value is None else value}"

    def is_good(self, value: str) -> bool:
        """Whether a value fits; text that is no such value does not."""
        try:
            return self.fits(value)
        except ValueError:
            return False


def variable(name: str) -> str:
    """Return the environment variable of a setting by its name, such as `core.executor`."""
    section, _, option = name.partition(".")
    return f"AIRFLOW__{section.upper()}__{option.upper()}"


SETTINGS: Final = (
    AirflowSetting(
        "core",
        "load_examples",
        "True",
        "False",
        "False",
        _says("false"),
        "Airflow's examples stand beside Slipway's DAGs, and anybody may start them",
        _EVERYWHERE,
    ),
    AirflowSetting(
        "core",
        "max_map_length",
        "1024",
        "1024",
        "1024 or more",
        _at_least(1024),
        "an action with more groups than that fails",
        _EVERYWHERE,
        breaks=True,
    ),
    AirflowSetting(
        "core",
        "simple_auth_manager_all_admins",
        "False",
        "False",
        "False",
        _says("false"),
        "everybody who reaches the API server may do everything, without a password",
        ("api-server",),
        breaks=True,
    ),
    AirflowSetting(
        "database",
        "sql_alchemy_max_overflow",
        "10",
        "75",
        "75 or more",
        _at_least(75),
        # Airflow's API server looks up tokens in its event loop, where its threads give connections back, too.
        "the API server has fewer connections than threads: it waits for itself, and answers 503 after half a minute",
        ("api-server",),
        breaks=True,
    ),
    AirflowSetting(
        "execution_api",
        "jwt_expiration_time",
        "600",
        "600",
        "600 or more",
        _at_least(600),
        "a task that waits longer than that for a worker is refused by the API server",
        ("scheduler", "api-server"),
        breaks=True,
    ),
    AirflowSetting(
        "scheduler",
        "task_instance_heartbeat_timeout",
        "300",
        "20",
        "20 to 60",
        lambda text: 20 <= float(text) <= 60,
        "the group of a worker that died stands still for 5 minutes",
    ),
    AirflowSetting(
        "scheduler",
        "task_instance_heartbeat_timeout_detection_interval",
        "10",
        "5",
        "10 or less",
        _at_most(10),
        "the end of a worker is not looked for often enough",
    ),
    AirflowSetting(
        "scheduler",
        "task_queued_timeout",
        "600",
        "120",
        "120 or less",
        _at_most(120),
        "a task whose message was lost with Redis, or with a frozen worker, is sent again after 10 to 12 minutes only",
        celery=True,
    ),
    AirflowSetting(
        "scheduler",
        "task_queued_timeout_check_interval",
        "120",
        "30",
        "30 or less",
        _at_most(30),
        "a task whose message was lost is not looked for often enough",
        celery=True,
    ),
    AirflowSetting(
        "scheduler",
        "orphaned_tasks_check_interval",
        "300",
        "30",
        "30 or less",
        _at_most(30),
        "tasks of a scheduler that died wait for 5 minutes",
    ),
    AirflowSetting(
        "scheduler",
        "scheduler_health_check_threshold",
        "30",
        "15",
        "30 or less",
        _at_most(30),
        "a scheduler that died counts as alive for too long",
        ("scheduler", "api-server"),
    ),
    AirflowSetting(
        "triggerer",
        "triggerer_health_check_threshold",
        "30",
        "15",
        "30 or less",
        _at_most(30),
        "what a triggerer that died has waited for is taken over too late",
        ("triggerer", "scheduler", "api-server"),
    ),
    AirflowSetting(
        "workers",
        "max_failed_heartbeats",
        "3",
        "30",
        "30 or more",
        _at_least(30),
        "an API server that is away for 15 s kills every running task",
        ("worker", "scheduler"),
        breaks=True,
    ),
    AirflowSetting(
        "workers",
        "min_heartbeat_interval",
        "5",
        "1",
        "5 or less",
        _at_most(5),
        "that a task failed is seen late, and groups may fail by the dozen",
        ("worker", "scheduler"),
    ),
    AirflowSetting(
        "workers",
        "execution_api_retries",
        "5",
        "12",
        "12 or more",
        _at_least(12),
        "a task gives up while an API server is restarted",
        ("worker", "scheduler"),
        breaks=True,
    ),
    AirflowSetting(
        "workers",
        "execution_api_timeout",
        "5.0",
        "15",
        "15 or more",
        _at_least(15),
        "a task gives up a busy API server",
        ("worker", "scheduler"),
        breaks=True,
    ),
    AirflowSetting(
        "workers",
        "execution_api_retry_wait_max",
        "90.0",
        "5",
        "5 or less",
        _at_most(5),
        "a task waits for up to 90 s between two attempts to reach an API server that is there again",
        ("worker", "scheduler"),
    ),
    AirflowSetting(
        "celery",
        "task_acks_late",
        "True",
        "True",
        "True",
        _says("true"),
        "what a worker that died had fetched is lost until the task's time in the queue is over",
        ("worker",),
        celery=True,
    ),
    AirflowSetting(
        "celery",
        "worker_prefetch_multiplier",
        "1",
        "1",
        "1",
        _says("1"),
        "a worker reserves tasks that it cannot run, while other workers are idle",
        ("worker",),
        celery=True,
    ),
    AirflowSetting(
        "celery_broker_transport_options",
        "visibility_timeout",
        "86400",
        "86400",
        "3600 or more",
        _at_least(3600),
        "Redis gives a task that still runs to a second worker",
        ("worker", "scheduler"),
        celery=True,
    ),
)
"""The settings whose value is judged by itself, by section. Lines for `[workers]` count where tasks run."""

NOTED: Final = (
    *("core.executor", "core.auth_manager", "core.parallelism", "core.dags_folder", "core.hostname_callable"),
    *(
        "core.execution_api_server_url",
        "api.base_url",
        "api.workers",
        "api_auth.jwt_leeway",
        "celery.worker_concurrency",
    ),
    *("database.sql_alchemy_pool_size", "logging.remote_logging"),
    *("logging.worker_log_server_port", "logging.trigger_log_server_port"),
)
"""More settings that processes note: the doctor compares them with each other, and with what it finds."""


@dataclass(frozen=True, slots=True)
class SharedKey:
    """A secret that several processes must have alike. They note digests of it alone.

    Attributes
    ----------
    name : the setting of Airflow, or the variable of Slipway's.
    read_by : the roles that need it.
    why : what happens where they differ, a sentence.
    """

    name: str
    read_by: tuple[str, ...]
    why: str

    @property
    def label(self) -> str:
        """What people call it."""
        return f"[{self.name.replace('.', '] ')}" if "." in self.name else self.name

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return variable(self.name) if "." in self.name else self.name


KEYS: Final = (
    SharedKey(
        "core.fernet_key",
        ("api-server",),
        "a connection that one process has written cannot be read by another, and no provisioner is reached",
    ),
    SharedKey(
        "api.secret_key",
        ("api-server", "worker", "triggerer"),
        "sessions hold at one API server alone, and logs of tasks are refused (403)",
    ),
    SharedKey(
        "api_auth.jwt_secret",
        ("scheduler", "api-server"),
        "each process makes its own, and the API server refuses the tokens of all tasks",
    ),
    SharedKey(
        "celery.broker_url",
        ("scheduler", "worker"),
        "tasks are sent to a broker that no worker listens to",
    ),
    SharedKey(
        RESULT_BACKEND,
        ("scheduler", "worker"),
        RESULTS_UNSEEN,
    ),
    SharedKey(
        SLIPWAY_STORE_KEYS_FILE.name,
        ("api-server", "worker", "triggerer"),
        "no process reads secrets that another has stored, nor compares nodes; without a key documents with secrets "
        "are refused",
    ),
)
"""What must be the same. An address with a password is one of them."""


def values_to_use(*, celery: bool) -> dict[str, dict[str, str]]:
    """Return the value of each row that is to be used, by section and option, in capitals as in variables.

    Parameters
    ----------
    celery : whether rows are among them that count with Celery's workers alone.
    """
    found: dict[str, dict[str, str]] = {}
    for row in SETTINGS:
        if celery or not row.celery:
            found.setdefault(row.section.upper(), {})[row.option.upper()] = row.use
    return found
