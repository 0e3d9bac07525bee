"""What all online commands share: options, arguments, and the forms in which they show an answer."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
import requests
import yaml
from click.shell_completion import CompletionItem
from rich.syntax import Syntax
from rich.text import Text

from slipway_cli.online.server.server import Failed, SiteServer
from slipway_cli.online.server.server_config import server_config
from slipway_cli.online.server.shared_options import shared_options
from slipway_cli.options import Command
from slipway_cli.output import (
    FOR_PEOPLE,
    FORM_KEY,
    FORMS,
    FORMS_OF_LISTS,
    Columns,
    OutputFormat,
    console,
    print_list,
    serialised,
    show_data,
)
from strategy_lib.status.words import duration_words

RAW, FORMAT = "raw", "format"
_OF_SHIPYARD = {"cli": OutputFormat.TABLE.value, RAW: RAW, FORMAT: FORMAT}


def online(command: Command) -> Command:
    """Give a command the shared options and `-o`; it is called with `server` and `output`.

    `output` is table, json, yaml, raw (the answer as it came) or format (the same, for people). What the server
    refuses goes to standard output as well, unless the output is for people.
    """
    return online_in(tuple(form.value for form in FORMS), _OF_SHIPYARD)(command)


def online_list(command: Command) -> Command:
    """Give a command that prints a list the same, and the forms `wide` and `name` (`print_list`)."""
    return online_in(tuple(form.value for form in FORMS_OF_LISTS), _OF_SHIPYARD)(command)


def online_in(forms: Sequence[str], of_shipyard: Mapping[str, str]) -> Callable[[Command], Command]:
    """Return the same for a command with forms of its own, of which the first is for people.

    Parameters
    ----------
    of_shipyard : forms by Shipyard's words for them.
    """
    return functools.partial(_online, forms=tuple(forms), of_shipyard=of_shipyard)


def _online(command: Command, forms: tuple[str, ...], of_shipyard: Mapping[str, str]) -> Command:
    @functools.wraps(command)
    def run(output: str | None, **rest: Any) -> object:
        shared = {name: _given(name, rest.pop(name)) for name in _SHARED}
        chosen = output or of_shipyard.get(shared["output_format"] or "", forms[0])
        click.get_current_context().meta[FORM_KEY] = chosen
        try:
            where = server_config(shared["profile"], shared["site"])
            verbosity = 1 if shared["verbosity"] is None else shared["verbosity"]
            server = SiteServer(where, verbosity, shared["context_marker"], _trace if shared["debug"] else None)
            return command(server=server, output=chosen, **rest)
        except Failed as error:
            if chosen not in (forms[0], *FOR_PEOPLE) and error.body is not None:
                click.echo(serialised(error.body, chosen), nl=False)
                raise Failed(error.message) from error
            raise

    option = click.option("-o", "--output", type=click.Choice(forms), help=f"Form of the result.  [{forms[0]}]")
    return shared_options(option(run))  # type: ignore[return-value]


_SHARED = ("profile", "site", "output_format", "verbosity", "context_marker", "debug")


def _given(name: str, value: Any) -> Any:
    """Return the option given after the command, else the one given before it."""
    return value if value is not None else click.get_current_context().find_root().params.get(name)


def _trace(line: str) -> None:
    click.echo(line, err=True)


def show_answer(answer: requests.Response, output: str, show_table: Callable[[Any], None]) -> None:
    """Print an answer in the form that was asked for; `show_table` prints its JSON for people."""
    if output == RAW:
        click.echo(answer.content, nl=False)
        return
    if "json" not in answer.headers.get("Content-Type", "").partition(";")[0]:
        if answer.text:
            click.echo(answer.text, nl=not answer.text.endswith("\n"))
        return
    show_data(answer.json(), output, show_table)


def show_list(
    answer: requests.Response,
    output: str,
    columns: Columns,
    nothing: str,
    right: Sequence[str] = (),
    folds: Sequence[str] = (),
    more: str = "more",
) -> None:
    """Print an answer that is a list, to people as a table (`print_list`); and tell them of `more` where it goes on."""
    show_answer(answer, output, lambda found: print_list(found, columns, nothing, right, folds))
    tell_of_more(answer, output, more)


def tell_of_more(answer: requests.Response, output: str, what: str) -> None:
    """Say to people that a list goes on."""
    if output in (OutputFormat.TABLE, OutputFormat.WIDE) and "next" in answer.links:
        console().print(Text(f"{what} are left out: see --limit", style="dim"))


def echo_documents(text: str, output: str) -> None:
    """Print YAML documents: as they are, coloured on a terminal; as JSON they are a list."""
    target = console()
    if output == OutputFormat.JSON:
        click.echo(json.dumps(list(yaml.safe_load_all(text)), indent=2, ensure_ascii=False, default=str))
    elif output in (OutputFormat.TABLE, FORMAT) and target.is_terminal and not target.no_color:
        target.print(Syntax(text, "yaml", background_color="default"))
    else:
        click.echo(text, nl=not text.endswith("\n"))


_ID = re.compile(r"[0-9A-Za-z]{26}")
# Of a DAG run, as Airflow's pages show it: manual__2026-03-01T12:00:00+00:00.
_RUN_ID = re.compile(r"(?=.*__)[A-Za-z0-9_.~:+-]{1,250}")


class TargetGroup(click.Group):
    """A group whose commands may be joined to their argument with a slash: `describe action/<id>`.

    The id of an action alone means that action.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Split the first argument at its first slash where what stands before it is a command."""
        head, slash, rest = args[0].partition("/")
        if slash and head in self.commands:
            args = [head, rest, *args[1:]]
        elif "action" in self.commands and (_ID.fullmatch(args[0]) or _RUN_ID.fullmatch(args[0])):
            args = ["action", *args]
        elif slash and args[0] not in self.commands:
            takes = " or ".join(f"{name}/…" for name in sorted(self.commands))
            raise click.UsageError(f"{ctx.info_name} takes {takes}, and not {head}/…", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete what stands behind a slash as the first argument of the command before it."""
        head, slash, rest = incomplete.partition("/")
        command = self.commands.get(head) if slash else None
        if command is None:
            return super().shell_complete(ctx, incomplete)
        inside = command.make_context(head, [], parent=ctx, resilient_parsing=True)
        argument = next((each for each in command.params if isinstance(each, click.Argument)), None)
        found = argument.shell_complete(inside, rest) if argument is not None else []
        return [CompletionItem(f"{head}/{item.value}", item.type, item.help) for item in found]


def action_id(text: str) -> str:
    """Return the id of an action, or that of its DAG run in Airflow; the server knows both.

    Raises `click.UsageError`: it cannot be one.
    """
    found = text.removeprefix("action/")
    if not _ID.fullmatch(found) and not _RUN_ID.fullmatch(found):
        raise click.UsageError(
            f"{text!r} is no id of an action: those have 26 letters and digits (`slipway get actions`), or are that of "
            "a run in Airflow, such as manual__2026-03-01T12:00:00+00:00"
        )
    return found


def step_of(text: str, action: str | None, attempt: int | None = None) -> tuple[str, str, int | None]:
    """Return what is meant by `<action>/<step>[/<try>]`, or by `<step>` and the id of its action: action, step and try.

    Raises `click.UsageError`: the action is not named, or cannot be one.
    """
    if action is not None:
        return action_id(action), text, attempt
    head, slash, rest = text.partition("/")
    if not slash or not rest:
        raise click.UsageError(f"which action's step? write step/<action>/{text}, or --action <action>")
    name, slash, number = rest.rpartition("/")
    if slash and number.isdigit() and attempt is None:
        return action_id(head), name, int(number)
    return action_id(head), rest, attempt


def node_names(targets: object) -> list[str]:
    """Return the names of nodes in a text with commas, or in a list."""
    if isinstance(targets, str):
        return [name.strip() for name in targets.split(",") if name.strip()]
    return list(targets) if isinstance(targets, list) else []


def named_nodes(words: Sequence[str]) -> list[str]:
    """Return the names of nodes in `node/n1`, `n1,n2` and `node n1`."""
    rest = words[1:] if len(words) > 1 and words[0] == "node" else words
    return node_names(",".join(name.removeprefix("node/") for name in rest))


def format_time(text: str | None) -> str:
    """Return an ISO 8601 time to the second, in UTC: `2026-03-01 12:00:00`; other text is returned as it is."""
    try:
        at = datetime.fromisoformat(text or "")
    except ValueError:
        return text or ""
    return f"{at.astimezone(UTC) if at.tzinfo else at:%Y-%m-%d %H:%M:%S}"


def format_duration(begin: str | None, end: str | None) -> str:
    """Return how long something took in words; nothing where that is not known."""
    try:
        return duration_words((datetime.fromisoformat(end or "") - datetime.fromisoformat(begin or "")).total_seconds())
    except (ValueError, TypeError):
        return ""


def only_if_same(answer: requests.Response) -> dict[str, str]:
    """Return the condition that what an answer was about has not changed since: a person has read and confirmed it."""
    version = answer.headers.get("ETag")
    return {} if version is None else {"If-Match": version}


def is_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty()


def confirm(question: str, option: str, otherwise: str = "nothing was done") -> None:
    """Ask a question on standard error.

    Raises `Failed`: the answer is no; or there is none, and `option` goes on without asking.
    """
    with answered(option, otherwise):
        if not click.confirm(question, err=True):
            raise Failed(otherwise)


@contextlib.contextmanager
def answered(option: str, otherwise: str = "nothing was done") -> Iterator[None]:
    """Raise `Failed` where nobody answers a question."""
    try:
        yield
    except click.Abort as abort:
        if isinstance(abort.__context__, KeyboardInterrupt):
            raise abort.__context__ from None
        click.echo(err=True)
        raise Failed(f"nobody answered: {otherwise} ({option} goes on without asking)") from None
