"""Reading the nodes of a site from files: design documents, or a plain list in YAML or JSON."""

import re
from collections.abc import Sequence
from dataclasses import replace

import click

from design_rendering.drydock_kinds import nodes_from_documents
from design_rendering.line_marks import LineMarks
from design_rendering.validation import render_files
from design_rendering.yaml_reader import Limits, YamlReader
from slipway_cli.files import MAX_BYTES, Source, load_sources, read_sources
from slipway_cli.output import Refused
from strategy_lib.errors import InventoryError, Problem, StrategyLibError
from strategy_lib.json_path import split
from strategy_lib.node import Node
from strategy_lib.node_list import nodes_from_inventory

# The first thing that is neither a comment nor the start of a document opens a list.
LIST_START = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t]*(?:---[ \t]*)?(?:#[^\n]*)?\r?\n)*[ \t]*(?:\[|-[ \t\r\n])")


def load_inventory(paths: Sequence[str]) -> tuple[Node, ...]:
    """Return the nodes of a site design, which may be in several files, or of one plain list.

    Raises
    ------
    Refused
        With every problem of the files.
    click.UsageError
        When a file cannot be read, or lists and documents are mixed.
    """
    sources = read_sources(paths)
    lists = [source for source in sources if LIST_START.match(source.content) and len(source.content) <= MAX_BYTES]
    if lists and len(sources) > 1:
        raise click.UsageError(f"{lists[0].name} is a plain list of nodes; give it alone, without other files.")
    if lists:
        return _plain_list(lists[0])
    documents, problems = load_sources(sources)
    if problems:
        raise Refused(problems)
    try:
        return tuple(nodes_from_documents(render_files(documents)[0]))
    except StrategyLibError as error:
        raise Refused(error.problems) from error


def _plain_list(source: Source) -> tuple[Node, ...]:
    try:
        text = source.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = source.content.count(b"\n", 0, error.start) + 1
        raise Refused([Problem("$", "not UTF-8; save the file as UTF-8", line, source=source.name)]) from error
    reader = YamlReader(text, source.name, Limits())
    documents = [document for document in reader.documents() if document.value is not None]
    problems = [*reader.problems, *(problem for document in documents for problem in document.repeated)]
    if problems:
        raise Refused(problems)
    if len(documents) != 1:
        raise Refused([Problem("$", "a list of nodes must be one document", source=source.name)])
    document = documents[0]
    try:
        return tuple(nodes_from_inventory(document.value))
    except InventoryError as error:
        marks = LineMarks(reader.text, document.start, document.end, document.line, document.column)
        raise Refused(
            [replace(found, line=marks.line_of(split(found.path)), source=source.name) for found in error.problems]
        ) from error
