"""Care of the database from the command line: `python -m site_store upgrade`, `restored`, …"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from site_store import SiteStore, StoreError
from site_store.backups import back_up, restore
from site_store.sql.census import of_airflow
from site_store.sql.fence import CURRENT

_URL_HELP = "Database URL; without it SLIPWAY_DATABASE_URL, else that of the `slipway up` in SLIPWAY_HOME or .slipway."

_MOST_DIFFERENCES = 50
_TOLD_EVERY = 100


class _Care(click.Group):
    """Commands whose errors of the store are told in their words."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except StoreError as error:
            raise click.ClickException(str(error)) from error


def _example(line: str) -> str:
    """Return the end of a command's help."""
    return f"\b\nExample:\n  {line}"


@click.group(cls=_Care)
def main() -> None:
    """Care for Slipway's database."""


_STOP = "controllers, workers (SIGTERM: they end their tasks first), triggerers, schedulers, DAG processor, API servers"
_START = "API servers, DAG processor, schedulers, triggerers, workers, controllers"
_STOPS_THE_WORLD = f"""\
What runs of the older version can write nothing behind this upgrade, and so acts no more. The order is:
1. stop {_STOP}
2. install the new version on every machine
3. slipway store upgrade
4. start {_START}"""
_IS_ROLLING = """\
The older version may go on beside the new one behind this upgrade. The order is:
1. slipway store upgrade, by the new version
2. replace one process after the other, in any order"""


@main.command(epilog=_example("slipway store upgrade"))
@click.option("--url", help=_URL_HELP)
@click.option("--while-running", is_flag=True, help="Upgrade also while processes or actions are at work.")
def upgrade(url: str | None, while_running: bool) -> None:
    """Create the tables, or bring them to this version's schema.

    It says who is at work, and whether older code may go on beside the new one. Where that may not, it refuses while
    anybody is at work. With --while-running it does not: who is of the older version fails at its next write, and its
    tasks go on when the new version has started.
    """
    found = SiteStore.pending_upgrade(url)
    if found is not None:
        click.echo(_IS_ROLLING if found.rolling else _STOPS_THE_WORLD)
        airflow = of_airflow()
        at_work = [*found.census.at_work, *airflow.at_work]
        click.echo("At work:" if at_work else "Nobody is known to be at work.")
        for line in at_work:
            click.echo(f"- {line}")
        for line in (*found.census.more, *airflow.more):
            click.echo(f"({line})")
        if at_work and not found.rolling and not while_running:
            raise click.ClickException(
                f"nothing was upgraded, schema {found.found} stays: end what is at work first; actions may also go on "
                "behind the upgrade: stop all processes, then run `slipway store upgrade --while-running`"
            )
    click.echo(SiteStore.upgrade(url))


@main.command(epilog=_example("slipway store prune --days 30"))
@click.option("--url", help=_URL_HELP)
@click.option("--days", default=90, show_default=True, type=click.IntRange(0, 36500), help="Events to keep, in days.")
def prune(url: str | None, days: int) -> None:
    """Delete old events. Revisions, actions and results stay."""
    with SiteStore.open(url) as store:
        deleted = store.events.prune(store.now() - timedelta(days=days))
        click.echo(f"{store.location}: {deleted} events older than {days} days deleted")


@main.command(epilog=_example("slipway store verify"))
@click.option("--url", help=_URL_HELP)
@click.option("--repair", is_flag=True, help="Count everything anew where something differs.")
def verify(url: str | None, repair: bool) -> None:
    """Compare the roll-up of statuses with what it counts; exit code 1 where they differ.

    It may be used while Slipway works. With --repair, others that write wait for a moment.
    """
    with SiteStore.open(url) as store:
        found = store.counts.verify()
        for difference in found.differences[:_MOST_DIFFERENCES]:
            click.echo(str(difference))
        left = len(found.differences) - _MOST_DIFFERENCES
        if left > 0:
            click.echo(f"and {left} more")
        if not found.differences:
            click.echo(f"{store.location}: {found.compared} counts compared, all are right")
            return
        wrong = f"{store.location}: {len(found.differences)} of {found.compared} counts are wrong"
        if not repair:
            raise click.ClickException(f"{wrong}; `slipway store verify --repair` counts anew")
        click.echo(f"{wrong}; counted anew: {store.counts.rebuild()} counts")


@main.command(epilog=_example("slipway store backup slipway.backup"))
@click.option("--url", help=_URL_HELP)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def backup(url: str | None, file: Path) -> None:
    """Write a backup of the whole store to a file that its owner alone may read; work may go on meanwhile."""
    made = back_up(file, url)
    click.echo(f"{made.database}: backed up to {file}, {made.size} bytes, schema {made.schema}")
    if made.keys:
        click.echo(f"its secrets need the key of fingerprint {', '.join(made.keys)}: keep that elsewhere")


@main.command("restore", epilog=_example("slipway store restore slipway.backup"))
@click.option("--url", help=_URL_HELP)
@click.option("--replace", is_flag=True, help="Drop the store that is there, in the same transaction.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def restore_backup(url: str | None, replace: bool, file: Path) -> None:
    """Bring a backup into an empty database, in one transaction.

    Nothing of Slipway's may run meanwhile. The store sends nothing until `slipway store restored` was run.
    """
    made = restore(file, url, replace=replace)
    click.echo(f"{made.database}: restored from {file}, schema {made.schema}")
    next_steps = ["slipway store upgrade"] if made.schema < CURRENT else []
    next_steps += ["slipway store restored (--clone where the original goes on beside it)"]
    for step in next_steps:
        click.echo(f"next: {step}")


@main.command(epilog=_example("slipway store restored"))
@click.option("--url", help=_URL_HELP)
@click.option("--op", default=0, type=click.IntRange(min=0, max=2**53), help="An operation's number that is known.")
@click.option("--doubt", is_flag=True, help="Do not believe what is recorded as done: actions ran after the backup.")
@click.option("--clone", is_flag=True, help="The original goes on beside it: nothing that it has sent is its own.")
def restored(url: str | None, op: int, doubt: bool, clone: bool) -> None:
    """Bring a store that was restored from a backup in line with a world that went on without it.

    Until then nothing is sent to a provisioner. Actions that were not over are closed, and what they may have sent
    is looked for before more is; numbers move past all that others may have seen; nodes are looked at anew.
    """
    with SiteStore.open(url) as store:
        found = store.restoring.settle(op, doubt=doubt, clone=clone)
        for action_id in found.closed:
            click.echo(f"closed action {action_id}: mark its DAG run as failed, if there is one")
        click.echo(f"{store.location}: the next operation is above {found.op}, the next epoch above {found.epoch - 1}")
        kept = "new" if clone else "as before"
        click.echo(f"references have the incarnation {found.incarnation}, {kept}; this store may send again")
        if doubt:
            click.echo(f"{found.doubted} nodes are in doubt: `slipway adopt` has those count as done that are")


@main.command(epilog=_example("slipway store rotate"))
@click.option("--url", help=_URL_HELP)
def rotate(url: str | None) -> None:
    """Encrypt all texts with secrets with the first key of the store, also those that are in clear from before.

    It may be used while Slipway works, and be stopped and run again at any time. First give every process the list
    new,old; afterwards it says when the old key may go.
    """
    with SiteStore.open(url) as store:
        texts = store.secret_texts
        changed, last = texts.rotate_common(), 0
        newest, *others = texts.fingerprints()
        while (piece := texts.rotate_next(last)) is not None:
            last = piece[0]
            changed += piece[1]
            if piece[1] and changed % _TOLD_EVERY == 0:
                click.echo(f"{changed} texts so far")
        used = texts.used()
        click.echo(f"{store.location}: {changed} texts encrypted anew; {used.get(newest, 0)} have key {newest}")
        left = {name: number for name, number in used.items() if name != newest}
        if left:
            named = ", ".join(f"{number} have key {name}" for name, number in sorted(left.items()))
            raise click.ClickException(
                f"{named}: a process that encrypts with it wrote meanwhile; give it the new list, and run this again"
            )
        if others:
            click.echo(f"no text needs {', '.join(others)}: it may go from the list, but is needed for older backups")


if __name__ == "__main__":
    main(prog_name="python -m site_store")
