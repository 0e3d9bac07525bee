"""`slipway describe` and `slipway logs`: one action, one step, one workflow, the details of a note."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

import click
from rich.console import Console
from rich.text import Text

from slipway_cli.online.client import Client
from slipway_cli.online.options import online, shown
from slipway_cli.online.targets import Step, TargetGroup, action_id, step_of
from slipway_cli.output import console, table
from slipway_cli.printable import printable

_action = click.option("--action", metavar="ID", help="The action that the step is of.")


@click.group(cls=TargetGroup, epilog="Example: slipway describe action/01ARZ3NDEKTSV4RRFFQ69G5FAV")
def describe() -> None:
    """Show one thing: `describe action/<id>` is the same as `describe action <id>`."""


@describe.command("action")
@click.argument("action")
@online
def describe_action(client: Client, output: str, action: str) -> None:
    """Show an action: its groups with node counts and criteria, its steps, notes and commands."""
    shown(client.get(f"/actions/{action_id(action)}"), output, _show_action)


@describe.command("step")
@click.argument("step")
@_action
@online
def describe_step(client: Client, output: str, step: str, action: str | None) -> None:
    """Show a step of an action: `step/<action>/<step>`, or its name and --action."""
    shown(client.get(_step_path(step_of(step, action))), output, _show_step)


@describe.command("validation")
@click.argument("validation")
@_action
@online
def describe_validation(client: Client, output: str, validation: str, action: str | None) -> None:
    """Show a failed validation of an action: `validation/<action>/<validation>`."""
    found = step_of(validation, action)
    path = f"/actions/{found.action}/validations/{quote(found.step, safe='')}"
    shown(client.get(path), output, lambda body: _facts(console(), body.items()))


@describe.command("workflow")
@click.argument("workflow")
@online
def describe_workflow(client: Client, output: str, workflow: str) -> None:
    """Show a DAG run with its tasks: `workflow/<id>`, as `slipway get workflows` names it."""

    def show(body: Any) -> None:
        target = console()
        _facts(target, ((key, value) for key, value in body.items() if key not in ("steps", "sub_dags", "conf")))
        rows = table("Task", "Place", "State", "Tries")
        for task in body.get("steps") or []:
            place = "" if task["map_index"] < 0 else str(task.get("rendered_map_index") or task["map_index"])
            rows.add_row(task["task_id"], printable(place), task["state"] or "", str(task["try_number"]))
        target.print(rows)

    shown(client.get(f"/workflows/{quote(workflow, safe='')}"), output, show)


@describe.command("notedetails")
@click.argument("note")
@online
def describe_notedetails(client: Client, output: str, note: str) -> None:
    """Show all that is behind a note: `notedetails/<id>`."""
    shown(client.get(f"/notedetails/{quote(note, safe='')}"), output, lambda body: click.echo(str(body)))


@click.group(cls=TargetGroup, epilog="Example: slipway logs step/01ARZ3NDEKTSV4RRFFQ69G5FAV/validate_design/1")
def logs() -> None:
    """Show what a step has logged."""


@logs.command("step")
@click.argument("step")
@_action
@click.option("--try", "attempt", type=click.IntRange(1), help="Which try.  [the last]")
@online
def logs_step(client: Client, output: str, step: str, action: str | None, attempt: int | None) -> None:
    """Show the log of a step: `step/<action>/<step>[/<try>]`, or its name and --action."""
    found = step_of(step, action, attempt)
    answer = client.get(f"{_step_path(found)}/logs", **{"try": found.attempt})
    shown(answer, output, lambda body: click.echo(str(body)))


def _step_path(step: Step) -> str:
    return f"/actions/{step.action}/steps/{quote(step.step, safe='')}"


def _show_action(action: Any) -> None:
    target = console()
    _facts(
        target,
        (
            ("Action", action["id"]),
            ("Name", action["name"]),
            ("Site", f"{action.get('site')}, revision {action.get('revision')}"),
            ("Parameters", action.get("parameters") or None),
            ("Lifecycle", action["action_lifecycle"]),
            ("Verdict", action.get("verdict")),
            ("User", action.get("user")),
            ("Created", action.get("datetime")),
            ("Started", action.get("started")),
            ("Ended", action.get("ended")),
        ),
    )
    groups = action.get("groups") or []
    if groups:
        rows = table(
            "Group", "", "State", "Nodes", "Succeeded", "Failed", "Unknown", right=("Nodes", "Succeeded", "Failed")
        )
        for group in groups:
            counts = group.get("counts") or {}
            state = group["state"] + (f" ({group['reason']})" if group.get("reason") else "")
            numbers = [str(counts.get(key, 0)) for key in ("total", "success", "failure", "unknown")]
            rows.add_row(printable(group["name"]), "critical" if group.get("critical") else "", state, *numbers)
        target.print(rows)
        _criteria(target, groups)
    steps = table("Step", "State", "Try the log with")
    for step in action.get("steps") or []:
        steps.add_row(
            printable(step["id"]), step["state"] or "", f"slipway logs step/{action['id']}/{printable(step['id'])}"
        )
    target.print(steps)
    _notes(
        target, [*(action.get("notes") or []), *(note for step in action["steps"] for note in step.get("notes") or [])]
    )
    for audit in action.get("command_audit") or []:
        target.print(Text(f"{audit['datetime']}  {audit['command']} by {printable(audit['user'])}"), soft_wrap=True)


def _criteria(target: Console, groups: Iterable[Any]) -> None:
    for group in groups:
        for result in group.get("criteria") or []:
            if not result["met"]:
                text = (
                    f"{group['name']}, after {result['phase']}: {result['criterion']} needed {result['needed']}, "
                    f"got {result['actual']}"
                )
                target.print(Text(printable(text), style="red"), soft_wrap=True)


def _show_step(step: Any) -> None:
    target = console()
    keys = ("task_id", "index", "state", "start_date", "end_date", "duration", "try_number", "operator")
    _facts(target, ((key, step.get(key)) for key in keys))
    _notes(target, step.get("notes") or [])


def _notes(target: Console, notes: Iterable[Any]) -> None:
    for note in notes:
        details = f"  (slipway describe notedetails/{note['note_id']})" if note.get("resolved_url_value") else ""
        target.print(Text(f"{note['note_timestamp']}  {printable(str(note['note_val']))}{details}"), soft_wrap=True)


def _facts(target: Console, facts: Iterable[tuple[str, Any]]) -> None:
    for name, value in facts:
        if value is not None:
            target.print(Text(f"{name}: {printable(str(value))}"), soft_wrap=True)
