"""Reading the files named on the command line. What stands in them is judged by `strategy_lib`."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from design_rendering.reading.documents import Document, DocumentError, load_documents
from design_rendering.reading.yaml_reader import Limits
from strategy_lib.errors import Problem

STANDARD_INPUT = "-"
_SUFFIXES = (".yaml", ".yml")
MAX_BYTES = Limits().max_bytes


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of one file and the name by which problems refer to it."""

    name: str
    content: bytes


def read_sources(paths: Sequence[str]) -> list[Source]:
    """Read files; `-` is standard input. A file that is named twice is read once.

    Raises `click.UsageError` when files cannot be read; the message names every one of them.
    """
    sources: dict[str, Source] = {}
    troubles = []
    for path in paths:
        key = path if path == STANDARD_INPUT else str(Path(path).absolute())
        if key in sources:
            continue
        try:
            sources[key] = _read(path)
        except OSError as problem:
            troubles.append(f"{path}: {problem.strerror or problem}")
        except ValueError as problem:  # a null byte in a name
            troubles.append(f"{path!r}: {problem}")
    if troubles:
        raise click.UsageError("Cannot read " + "; ".join(troubles) + ".")
    return list(sources.values())


def files_in(directory: str, *, recurse: bool) -> list[str]:
    """Return the files with documents that are in a directory, in order.

    Parameters
    ----------
    recurse : also those in the directories below it.

    Raises `click.UsageError`: it cannot be read, or has none.
    """
    try:
        # `rglob` finds nothing below a folder that is not there.
        Path(directory).stat()
        inside = Path(directory).rglob("*") if recurse else Path(directory).iterdir()
        found = sorted(str(path) for path in inside if path.suffix in _SUFFIXES and path.is_file())
    except OSError as error:
        raise click.UsageError(f"{directory} cannot be read: {error.strerror or error}") from error
    if not found:
        raise click.UsageError(f"{directory} has no file that ends in {' or '.join(_SUFFIXES)}")
    return found


def _read(path: str) -> Source:
    """Read one byte more than is allowed, so that an endless file is refused by its size and not by our memory."""
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise OSError("standard input is closed")
        return Source("<stdin>", sys.stdin.buffer.read(MAX_BYTES + 1))
    with Path(path).open("rb") as file:
        return Source(path, file.read(MAX_BYTES + 1))


def load_sources(sources: Sequence[Source]) -> tuple[list[Document], list[Problem]]:
    """Return the documents of all files and what is wrong with the files themselves."""
    documents: list[Document] = []
    problems: list[Problem] = []
    for source in sources:
        try:
            found = load_documents(source.content, source.name)
        except DocumentError as error:
            problems += error.problems
            continue
        if not found:
            problems.append(Problem("$", "there is no document in it", source=source.name))
        documents += found
    return documents, problems
