"""`slipway describe`, `logs` and `report`: one action, one step, one workflow, the details of a note."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
from rich.console import Console
from rich.text import Text

from site_engine.kinds import REPORT
from slipway_cli.online.actions.trees import ALL, DEPTH, describe_site, follow_to_the_end, show_tree
from slipway_cli.online.server.completion import ACTION, STEP
from slipway_cli.online.server.online_command import (
    RAW,
    TargetGroup,
    action_id,
    format_duration,
    format_time,
    online,
    online_in,
    show_answer,
    step_of,
)
from slipway_cli.online.server.server import SiteServer
from slipway_cli.online.sites.node_history import describe_node
from slipway_cli.options import REVISION, examples, output_file_option
from slipway_cli.output import console, deliver, print_facts, print_table, printable, table

_STYLES = {"success": "green", "failed": "red", "failure": "red", "running": "cyan"}
_MOST_NODES = 500
_action = click.option("--action", metavar="ID", type=ACTION, help="The action that the step is of.")


@click.group(cls=TargetGroup, epilog=examples("slipway describe action/01ARZ3NDEKTSV4RRFFQ69G5FAV"))
def describe() -> None:
    """Show one thing: `describe action/<id>` is the same as `describe action <id>`."""


describe.add_command(describe_site)
describe.add_command(describe_node)


@describe.command("action", epilog=examples("slipway describe action/01ARZ3NDEKTSV4RRFFQ69G5FAV --follow"))
@click.argument("action", type=ACTION)
@click.option("--tree", is_flag=True, help="Show how each step, group and phase stands.")
@click.option("--depth", type=DEPTH, metavar="N|all", help="How many levels of the tree: 4 has the nodes.  [3]")
@click.option("--follow", "-F", "following", is_flag=True, help="Show the progress, and end with the verdict.")
@online
def describe_action(
    server: SiteServer, output: str, action: str, tree: bool, depth: str | None, following: bool
) -> None:
    """Show an ACTION by its id: its groups with node counts and criteria, its steps, notes and commands.

    With --tree it shows its status tree: every step, group, phase and node has its status, and the messages of what
    is worst. With --follow it shows the tree until the action is over, then the report, and ends with the verdict: 0
    success, 1 failure. In a pipe each change is a line; with -o json the report is all of standard output, and with
    --tree each tree is a line.
    """
    if depth is not None and not (tree or following):
        raise click.UsageError("--depth is about the tree: give --tree or --follow with it")
    if following and depth == ALL:
        raise click.UsageError("--depth all shows everything once: leave --follow out")
    known = action_id(action)
    if tree and not following:
        show_tree(server, f"/actions/{known}/tree", output, depth, f"action/{known}")
        return
    answer = server.get(f"/actions/{known}")
    if following:
        follow_to_the_end(server, answer.json(), output, depth, trees=tree)
    show_answer(answer, output, _show_action)


@describe.command("revision", epilog=examples("slipway describe revision/3"))
@click.argument("number", type=REVISION)
@online
def describe_revision(server: SiteServer, output: str, number: int) -> None:
    """Show a revision: who committed it, its collections, and what was overridden if it was forced."""

    def show(body: Any) -> None:
        target = console()
        print_facts(
            target,
            (
                ("Revision", f"{body['revision']} of site {body['site']}"),
                ("Versions", ", ".join(body["versions"]) or None),
                ("Committed", f"{format_time(body['created'])} UTC by {body['user']}"),
                ("Goes back to", body.get("rollback_of")),
                ("By policy", "; ".join(f"{k}: {', '.join(v)}" for k, v in (body.get("by_policy") or {}).items())),
                ("Collections", ", ".join(each["name"] for each in body["collections"])),
                ("Digest", body["digest"]),
            ),
        )
        if body["forced"]:
            target.print(Text("Forced in spite of:", style="yellow"))
            for problem in body["problems"]:
                target.print(Text(f"  {printable(problem)}"), soft_wrap=True)

    show_answer(server.get(f"/revisions/{number}"), output, show)


@describe.command("step", epilog=examples("slipway describe step/01ARZ3NDEKTSV4RRFFQ69G5FAV/validate_design -v 3"))
@click.argument("step", type=STEP)
@_action
@online
def describe_step(server: SiteServer, output: str, step: str, action: str | None) -> None:
    """Show a step of an action: `step/<action>/<step>`, or its name and --action."""
    of, name, _ = step_of(step, action)
    show_answer(server.get(_step_path(of, name)), output, _show_step)


@describe.command("validation", epilog=examples("slipway describe validation/01ARZ3NDEKTSV4RRFFQ69G5FAV/1"))
@click.argument("validation")
@_action
@online
def describe_validation(server: SiteServer, output: str, validation: str, action: str | None) -> None:
    """Show a failed validation of an action: `validation/<action>/<validation>`.

    None are kept so far: an action that fails its validation is not created.
    """
    of, name, _ = step_of(validation, action)
    path = f"/actions/{of}/validations/{quote(name, safe='')}"
    show_answer(server.get(path), output, lambda body: print_facts(console(), body.items()))


@describe.command("workflow", epilog=examples("slipway describe workflow/deploy_site__2026-03-01T12:00:00.000000"))
@click.argument("workflow")
@online
def describe_workflow(server: SiteServer, output: str, workflow: str) -> None:
    """Show a DAG run with its tasks: `workflow/<id>`, as `slipway get workflows` names it."""

    def show(body: Any) -> None:
        target = console()
        print_facts(target, ((key, value) for key, value in body.items() if key not in ("steps", "sub_dags", "conf")))
        rows = table("Task", "Place", "State", "Tries")
        for task in body.get("steps") or []:
            place = "" if task["map_index"] < 0 else str(task.get("rendered_map_index") or task["map_index"])
            rows.add_row(task["task_id"], place, task["state"] or "", str(task["try_number"]))
        target.print(rows)

    show_answer(server.get(f"/workflows/{quote(workflow, safe='')}"), output, show)


@describe.command("notedetails", epilog=examples("slipway describe notedetails/00000000000000000000000042"))
@click.argument("note")
@online
def describe_notedetails(server: SiteServer, output: str, note: str) -> None:
    """Show all that is behind a note: `notedetails/<id>`."""
    show_answer(server.get(f"/notedetails/{quote(note, safe='')}"), output, lambda body: click.echo(str(body)))


@click.group(cls=TargetGroup, epilog=examples("slipway logs step/01ARZ3NDEKTSV4RRFFQ69G5FAV/validate_design/1"))
def logs() -> None:
    """Show what a step has logged."""


@logs.command(
    "step",
    epilog=examples(
        "slipway logs step/01ARZ3NDEKTSV4RRFFQ69G5FAV/deploy_group.control-nodes",
        "slipway logs step report --action 01ARZ3NDEKTSV4RRFFQ69G5FAV --try 1",
    ),
)
@click.argument("step", type=STEP)
@_action
@click.option("--try", "attempt", type=click.IntRange(1), help="Which try.  [the last]")
@online
def logs_step(server: SiteServer, output: str, step: str, action: str | None, attempt: int | None) -> None:
    """Show the log of a step: `step/<action>/<step>[/<try>]`, or its name and --action."""
    of, name, number = step_of(step, action, attempt)
    answer = server.get(f"{_step_path(of, name)}/logs", **{"try": number})
    show_answer(answer, output, lambda body: click.echo(str(body)))


_FORMS = ("text", "json", "html")
_REPORTS = examples(
    "slipway report action/01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "slipway report action/01ARZ3NDEKTSV4RRFFQ69G5FAV -o html -f report.html",
)


@click.group(cls=TargetGroup, epilog=_REPORTS)
def report() -> None:
    """Show the report of an action that is over."""


@report.command("action", epilog=_REPORTS)
@click.argument("action", type=ACTION)
@output_file_option
@online_in(_FORMS, {RAW: "json"})
def report_action(server: SiteServer, output: str, action: str, output_file: Path | None) -> None:
    """Show the report of an ACTION: the verdict and why, failures first.

    text is to read; json is the whole report as it is kept, with every node; html is one page to mail, which needs
    nothing from elsewhere.
    """
    text = server.get(f"/actions/{action_id(action)}/report", format=output).text
    if output == _FORMS[0] and output_file is None:
        console().print(Text(text.removesuffix("\n")), soft_wrap=True)
        return
    deliver(text if text.endswith("\n") else f"{text}\n", output_file)


def _step_path(action: str, step: str) -> str:
    return f"/actions/{action}/steps/{quote(step, safe='')}"


def _show_action(action: Any) -> None:
    target = console()
    groups, parameters = action.get("groups") or [], action.get("parameters") or {}
    for group in groups:
        if group.get("waits"):
            target.print(Text(printable(f"group {group['name']} {group['waits']}"), style="yellow"), soft_wrap=True)
    took = format_duration(action["started"], action["ended"])
    ended = f"{format_time(action['ended'])} UTC{f', after {took}' if took else ''}" if action["ended"] else None
    print_facts(
        target,
        (
            ("Action", f"{action['id']}: {action['name']}"),
            ("Site", f"{action.get('site')}, revision {action.get('revision')}"),
            ("Parameters", ", ".join(f"{name}={json.dumps(value)}" for name, value in parameters.items())),
            ("State", action["action_lifecycle"]),
            ("Verdict", action.get("verdict")),
            ("Created", f"{format_time(action.get('datetime'))} UTC by {action.get('user')}"),
            ("Started", f"{format_time(action['started'])} UTC" if action.get("started") else None),
            ("Ended", ended),
        ),
    )
    if groups:
        columns = ("Group", "Critical", "State", "Nodes", "Succeeded", "Failed", "Unknown")
        rows = table(*columns, right=columns[3:], folds=("Group",))
        for group in groups:
            counts = group.get("counts") or {}
            state = group["state"] + (f" ({group['reason']})" if group.get("reason") else "")
            numbers = [str(counts.get(key, 0)) for key in ("total", "success", "failure", "unknown")]
            critical = "yes" if group.get("critical") else "no"
            rows.add_row(group["name"], critical, _coloured(state), *numbers)
        print_table(target, rows)
        _criteria(target, groups)
    _show_nodes(target, action)
    _show_steps(target, action)
    notes = [*(action.get("notes") or []), *(note for step in action["steps"] for note in step.get("notes") or [])]
    _notes(target, notes)
    if action.get("command_audit"):
        target.print()
    for audit in action.get("command_audit") or []:
        line = f"{format_time(audit['datetime'])}  {audit['command']} by {audit['user']}"
        target.print(Text(printable(line)), soft_wrap=True)


def _show_nodes(target: Console, action: Any) -> None:
    nodes = action.get("nodes") or []
    rows = table("Node", "State", "Groups", "Message", folds=("Groups", "Message"))
    for node in nodes[:_MOST_NODES]:
        rows.add_row(node["name"], _coloured(node["state"]), ", ".join(node["groups"]), node["message"] or "")
    print_table(target, rows)
    if len(nodes) > _MOST_NODES:
        target.print(f"and {len(nodes) - _MOST_NODES} more: with -o json they are all there")


def _show_steps(target: Console, action: Any) -> None:
    if not action.get("steps"):
        return
    rows = table("#", "Step", "State", right=("#",), folds=("Step",))
    for step in action["steps"]:
        rows.add_row(str(step["index"]), step["id"], _coloured(step["state"] or "-"))
    print_table(target, rows)
    target.print(Text(f"Log of a step: slipway logs step/{action['id']}/STEP", style="dim"), soft_wrap=True)
    # One that was stopped or closed may have none.
    if any(step["id"] == REPORT and step["state"] == "success" for step in action["steps"]):
        text = f"The whole report: slipway report action/{action['id']}"
        target.print(Text(text, style="dim"), soft_wrap=True)


def _coloured(state: str) -> Text:
    return Text(state, style=_STYLES.get(state.partition(" ")[0], ""))


def _criteria(target: Console, groups: Iterable[Any]) -> None:
    for group in groups:
        for result in group.get("criteria") or []:
            if not result["met"]:
                text = (
                    f"{group['name']}, after {result['phase']}: {result['criterion']} needed {result['needed']}, "
                    f"actual {result['actual']}"
                )
                target.print(Text(printable(text), style="red"), soft_wrap=True)


def _show_step(step: Any) -> None:
    target = console()
    keys = ("task_id", "index", "state", "start_date", "end_date", "duration", "try_number", "operator")
    shown_times = {"start_date": format_time, "end_date": format_time}
    print_facts(target, ((key, shown_times.get(key, lambda value: value)(step.get(key)) or None) for key in keys))
    _notes(target, step.get("notes") or [])


def _notes(target: Console, notes: Iterable[Any]) -> None:
    """Print notes, oldest first, each with what it is about."""
    ordered = sorted(notes, key=lambda note: (note["note_timestamp"] or "", note["note_id"]))
    if ordered:
        target.print()
    for note in ordered:
        about = note["assoc_id"].split("/", 2)[2] + ": " if note["assoc_id"].startswith("step/") else ""
        details = f"  (notedetails/{note['note_id']})" if note.get("resolved_url_value") else ""
        line = f"{format_time(note['note_timestamp'])}  {about}{note['note_val']}{details}"
        target.print(Text(printable(line)), soft_wrap=True)
