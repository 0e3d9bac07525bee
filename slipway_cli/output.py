"""How results reach the user: tables for people, JSON and YAML for programs, errors on standard error."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from io import StringIO
from pathlib import Path
from typing import IO, Any

import click
import yaml
from rich.console import Console
from rich.text import Text

from slipway_cli import SlipwayCliError
from slipway_cli.folding_table import FoldingTable, whole_lines
from slipway_cli.folding_table import printable as printable
from slipway_cli.options import Command
from strategy_lib.errors import Problem
from strategy_lib.folded_names import fold_names


def listed(names: Collection[str], limit: int = 12) -> str:
    """Return names in a sentence: `a, b and 3 more`; all of them when there are at most `limit`."""
    shown = [printable(name) for name in list(names)[:limit]]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def listed_nodes(names: Collection[str], limit: int = 12) -> str:
    """Return names of nodes in a sentence, those that differ in a number alone as one: `r1-compute-[01-12], mon`."""
    found = fold_names(names)
    rest = sum(number for _, number in found[limit:])
    return ", ".join(printable(text) for text, _ in found[:limit]) + (f" and {rest} more" if rest else "")


def counted(number: int, noun: str) -> str:
    """Return `1 node`, `2 nodes`, `2 strategies`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("gy") else f"{number} {noun}s"


UNFOLDED = 1000  # columns of a table in a pipe: wide enough that no name is folded


class OutputFormat(StrEnum):
    """The forms in which a command shows its result. Lists alone have the last two."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    WIDE = "wide"
    NAME = "name"


FORMS = (OutputFormat.TABLE, OutputFormat.JSON, OutputFormat.YAML)
"""The forms that every command has."""
FORMS_OF_LISTS = tuple(OutputFormat)
FOR_PEOPLE = (OutputFormat.TABLE, OutputFormat.WIDE, OutputFormat.NAME)


def output_option(command: Command) -> Command:
    """Add `-o/--output` to a command, as the parameter `output`."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice([form.value for form in FORMS]),
        default=OutputFormat.TABLE.value,
        show_default=True,
        help="Form of the result.",
    )(command)


def console(*, stderr: bool = False, file: IO[str] | None = None) -> Console:
    """Return a console that is coloured on a terminal only, obeys NO_COLOR, and does not fold lines in a pipe."""
    # Python has no stream where the shell closed it (`>&-`).
    stream = file or (sys.stderr if stderr else sys.stdout) or StringIO()
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:  # a terminal that cannot show a character gets a question mark, not a traceback
        reconfigure(errors="replace")
    folds = stream.isatty() or "COLUMNS" in os.environ
    return _WholeWords(file=stream, width=None if folds else UNFOLDED, highlight=False, markup=False, emoji=False)


class _WholeWords(Console):
    """A console on which a terminal breaks no word of a text that is longer than a line; in a pipe it is one line."""

    def print(self, *objects: Any, soft_wrap: bool | None = None, **more: Any) -> None:
        """Print as any console does."""
        if soft_wrap and self.is_terminal and len(objects) == 1 and isinstance(objects[0], Text):
            text, more = objects[0], {"style": objects[0].style, **more}
            objects = (Text("\n").join(whole_lines(text, self.width)),)
        super().print(*objects, soft_wrap=soft_wrap, **more)


def table(*columns: str, right: Sequence[str] = (), folds: Sequence[str] = ()) -> FoldingTable:
    """Return an empty table with these headings.

    Parameters
    ----------
    right : columns of numbers.
    folds : columns that are folded when the terminal is too narrow; the others keep their width, or stand below.
    """
    return FoldingTable(columns, right, folds)


def say_next(*commands: str, err: bool = False) -> None:
    """Say which commands come next, with the site and the names filled in; nothing without one."""
    if commands:
        click.echo(f"next: {printable('; '.join(commands))}", err=err)


def print_table(target: Console, rows: FoldingTable) -> None:
    """Print a table below a blank line; nothing where it has no row."""
    if rows.row_count:
        target.print()
        target.print(rows)


FORM_KEY = "slipway_cli.output.form"
"""Where a command's context has the form that was asked for."""


def asked_form() -> str | None:
    """Return the form of the result that the command at work was asked for; None: it has none."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(FORM_KEY)


Columns = Mapping[str, Callable[[Any], str | Text]]
"""The columns of a list: the heading to what returns the cell of one."""


def print_list(
    found: Collection[Any],
    columns: Columns,
    nothing: str,
    right: Sequence[str] = (),
    folds: Sequence[str] = (),
) -> None:
    """Print a table of what was found, a row each; in its place `nothing` where nothing was.

    With `-o wide` each row is one line. With `-o name` the first column alone is printed, and nothing where there is
    nothing: it is for commands that take names.
    """
    form = asked_form()
    if form == OutputFormat.NAME:
        first = next(iter(columns.values()))
        for one in found:
            click.echo(printable(str(first(one))))
        return
    if form == OutputFormat.WIDE:
        folds = ()
    rows = table(*columns, right=right, folds=folds)
    for one in found:
        rows.add_row(*(cell(one) for cell in columns.values()))
    target = console()
    if form == OutputFormat.WIDE:
        target.width = max(target.width, UNFOLDED)
    target.print(rows if found else Text(nothing))


def print_facts(target: Console, facts: Iterable[tuple[str, Any]], indent: str = "") -> None:
    """Print a line `name: value` for each fact that is known."""
    for name, value in facts:
        if value not in (None, ""):
            target.print(Text(f"{indent}{name}: {printable(str(value))}"), soft_wrap=True)


def serialised(data: Any, output: str) -> str:
    """Return data as a YAML text if that is asked for, else as JSON; it ends in a line break."""
    if output == OutputFormat.YAML:
        return yaml.dump(data, Dumper=yaml.SafeDumper, sort_keys=False, allow_unicode=True, width=120)
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def show_data(data: Any, output: str, show_table: Callable[[Any], None]) -> None:
    """Print data in the form that was asked for; `show_table` prints it for people."""
    if output in FOR_PEOPLE:
        show_table(data)
    else:
        click.echo(serialised(data, output), nl=False)


def deliver(text: str, path: Path | None) -> None:
    """Write a finished text to a file, or to standard output when there is no path.

    Raises `click.ClickException` when the file cannot be written.
    """
    if path is None:
        click.echo(text, nl=False)
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise click.ClickException(f"{path} cannot be written: {problem.strerror or problem}.") from problem


def problem_data(problem: Problem) -> dict[str, Any]:
    """Return a problem as programs read it."""
    return {name: getattr(problem, name) for name in ("level", "source", "line", "document", "path", "message")}


Sameness = tuple[Hashable, str]
"""What is equal in sentences about several documents, and the name of the document that this one is about."""


def sameness(place: Hashable, text: str, name: str) -> Sameness | None:
    """Return what a sentence has in common with equal ones about other documents; None: it is about none.

    Parameters
    ----------
    place : where in its document it is, and who says it.
    name : of its document; "" where it has none.
    """
    if not name:
        return None
    others = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", "\0", text)
    return (place, others), name


def folded(sentences: Iterable[tuple[Sameness | None, str]]) -> Iterator[str]:
    """Yield sentences; of equal ones about several documents the first, with the names of all."""
    same: dict[Hashable, tuple[str, list[str]]] = {}
    for number, (known, said) in enumerate(sentences):
        kind, name = known or (number, "")
        same.setdefault(kind, (said, []))[1].append(name)
    for said, names in same.values():
        yield said if len(names) == 1 else f"{said} ({len(names)} times: {listed(dict.fromkeys(names))})"


_LEVELS = {"error": "bold red", "warning": "bold yellow", "note": "bold"}


def print_by_level(
    target: Console, sentences: Sequence[tuple[str, Sameness | None, str]], most: int | None = None
) -> None:
    """Print errors, then warnings, then notes; of each kind not more than `most`, and how many are left out.

    Parameters
    ----------
    sentences : the level of each, and what it has in common with others; each error is printed by itself.
    """
    for level, style in _LEVELS.items():
        chosen = [(None if level == "error" else kind, said) for of, kind, said in sentences if of == level]
        if not chosen:
            continue
        target.print(Text(f"{counted(len(chosen), level)}:", style=style))
        lines = list(folded(chosen))
        for said in lines[:most]:
            target.print(Text("  " + printable(said)), soft_wrap=True)
        if most is not None and len(lines) > most:
            target.print(Text(f"  and {len(lines) - most} more: -o json shows them"), soft_wrap=True)


def print_problems(target: Console, problems: Sequence[Problem]) -> None:
    """Print problems, errors first and warnings apart, each as `file:line: path: sentence`."""

    def kind(problem: Problem) -> Sameness | None:
        return sameness(problem.path, problem.message, (problem.document or "").rpartition(" ")[2])

    print_by_level(target, [(problem.level, kind(problem), str(problem)) for problem in problems])


class Refused(SlipwayCliError, click.ClickException):
    """The documents have errors. Mend the problems listed above."""

    exit_code = 1

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__((type(self).__doc__ or "").strip())

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the problems and what to do to standard error."""
        target = console(stderr=True, file=file)
        print_problems(target, self.problems)
        target.print(Text(self.message))
