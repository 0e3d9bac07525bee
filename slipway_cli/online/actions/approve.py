"""`slipway approve`: answer a group that waits for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import click
from rich.text import Text

from slipway_cli.online.server.completion import ACTION, GROUP_OF_ACTION
from slipway_cli.online.server.online_command import TargetGroup, action_id, confirm, online, only_if_same, show_answer
from slipway_cli.online.server.server import Failed, SiteServer
from slipway_cli.options import examples
from slipway_cli.output import console, counted, listed, printable
from strategy_lib.did_you_mean import did_you_mean

APPROVED, REFUSED = "approved", "refused"
_EXAMPLES = examples(
    "slipway approve action/01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "slipway approve action/01ARZ3NDEKTSV4RRFFQ69G5FAV --group racks --refuse --comment 'rack 3 is not cabled'",
)


@click.group(cls=TargetGroup, epilog=_EXAMPLES)
def approve() -> None:
    """Answer a group that waits for an approval."""


@approve.command("action", epilog=_EXAMPLES)
@click.argument("action", type=ACTION)
@click.option("--group", type=GROUP_OF_ACTION, metavar="NAME", help="The group.  [the one that waits]")
@click.option("--refuse", is_flag=True, help="Refuse it: the group fails.")
@click.option("--comment", metavar="TEXT", help="Is kept with the answer.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@online
def approve_action(
    server: SiteServer, output: str, action: str, group: str | None, refuse: bool, comment: str | None, yes: bool
) -> None:
    """Approve, or refuse, what a group of an ACTION waits for. It shows what is asked, and asks."""
    known = action_id(action)
    same = {} if yes else only_if_same(server.get(f"/actions/{known}"))
    entry = waiting_group(server.get(f"/actions/{known}/tree", depth=2).json()["root"], group)
    gate, name = entry["group"]["approval"], str(entry["name"])
    target = console(stderr=True)
    who = f", by {listed(gate['approvers'])}" if gate["approvers"] else ""
    nodes = counted(entry["group"]["nodes"], "node")
    text = f"group {name} ({nodes}) waits for an approval {gate['moment']} it{who}: {gate['text']}"
    target.print(Text(printable(text)), soft_wrap=True)
    if not yes:
        what = "refuse it, so that the group fails" if refuse else "approve it"
        confirm(f"{what}?", "--yes")
    body = {"answer": REFUSED if refuse else APPROVED, "comment": comment}
    path = f"/actions/{known}/approvals/{quote(name, safe='')}"
    answer = server.send("POST", path, {}, headers=same, json=body)
    show_answer(answer, output, lambda _: click.echo(f"group {name} of action {known} is {body['answer']}"))


def waiting_group(root: Mapping[str, Any], name: str | None) -> Mapping[str, Any]:
    """Return the entry of the group that waits for an answer.

    Raises `Failed`: there is none, this one does not wait, or several do and none is named.
    """
    groups = {
        str(entry["name"]): entry for stage in root.get("children") or () for entry in stage.get("children") or ()
    }
    waiting = {key: entry for key, entry in groups.items() if _is_waiting(entry)}
    if name is not None and name not in groups:
        raise Failed(f"the action has no group {name!r}; {did_you_mean(name, tuple(groups), 'it has none')}")
    if name is not None and name not in waiting:
        others = f"; {listed(tuple(waiting))} waits" if waiting else ""
        raise Failed(f"group {name!r} waits for no approval{others}")
    if name is None and len(waiting) != 1:
        many = f"several wait: name one with --group: {listed(tuple(waiting))}"
        raise Failed(many if waiting else "no group of this action waits for an approval")
    return waiting[name] if name is not None else next(iter(waiting.values()))


def _is_waiting(entry: Mapping[str, Any]) -> bool:
    gate = (entry.get("group") or {}).get("approval")
    return gate is not None and gate["answered"] is None
