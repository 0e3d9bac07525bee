"""`slipway controller-role`: the commands of Airflow that make the controller's account, with least rights."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

import click

from site_engine.controller.rights import NeededRights, needed_rights
from slipway_cli.options import examples
from strategy_lib.settings import SLIPWAY_SERVICE_USER

ROLE: Final = "slipway-controller"
_AIRFLOW: Final = "airflow"


def role_commands(user: str, needed: NeededRights) -> list[list[str]]:
    """Return commands of Airflow with FAB, each as its words: they make the role, its permissions, and a user with it.

    The last one asks for the password. Those before it may be given again: they add what is missing.
    """
    runs = [f"{kind}:{dag}" for dag in needed.changes for kind in ("DAG", "DAG Run")]
    return [
        # It knows the names of permissions on single DAGs once these were parsed.
        [_AIRFLOW, "sync-perm", "--include-dags"],
        [_AIRFLOW, "roles", "create", ROLE],
        _permissions(runs, "can_read", "can_edit"),
        _permissions([f"DAG Run:{dag}" for dag in needed.triggers], "can_create"),
        _permissions(["DAG Runs"], "can_read"),
        [
            *(_AIRFLOW, "users", "create", "--username", user, "--role", ROLE),
            *("--firstname", "Slipway", "--lastname", "Controller", "--email", f"{user}@localhost"),
        ],
    ]


def _permissions(resources: Sequence[str], *actions: str) -> list[str]:
    return [_AIRFLOW, "roles", "add-perms", ROLE, "--resource", *resources, "--action", *actions]


@click.command("controller-role", epilog=examples("slipway controller-role", "slipway controller-role --repair"))
@click.option("--repair", is_flag=True, help="Sites are repaired: it may also trigger repair_site.")
@click.option(
    "--user",
    envvar=SLIPWAY_SERVICE_USER.name,
    default=SLIPWAY_SERVICE_USER.default,
    show_default=True,
    help="The controller's user in Airflow.",
)
def controller_role(repair: bool, user: str) -> None:
    """Print the commands that make the controller's account in an Airflow with FAB, with least rights.

    Give them where `airflow` is Airflow's own command, once Airflow knows the DAGs. Nothing is changed by this one.
    """
    for words in role_commands(user, needed_rights(repairs=repair)):
        click.echo(shlex.join(words))
