"""Which strategy a command means, and the nodes it is about: read from the files named on the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from design_rendering.design import read_design, unused_strategies
from design_rendering.kinds.nodes import missing_makers, nodes_from_documents
from design_rendering.kinds.objects import ObjectKey
from design_rendering.policies import police
from design_rendering.reading.documents import Document, find_document, find_documents
from design_rendering.reading.line_marks import LineMarks
from design_rendering.reading.yaml_reader import Limits, YamlReader
from design_rendering.rendering import RenderedDocument, Rendering
from design_rendering.validation import RenderedFiles, render_files, unknown_kinds
from site_engine.extensions import installed_policies
from slipway_cli.files import MAX_BYTES, Source, load_sources, read_sources
from slipway_cli.options import Command
from slipway_cli.output import Refused, listed, printable
from strategy_lib.errors import InventoryError, Problem, StrategyLibError, split
from strategy_lib.node import Node
from strategy_lib.parsing.configuration import CONFIGURATION_SCHEMA, DEFAULT_STRATEGY_NAME
from strategy_lib.parsing.strategy_parser import nodes_from_inventory, parse_strategy
from strategy_lib.strategy import STRATEGY_SCHEMA, Strategy

# The first thing that is neither a comment nor the start of a document opens a list.
LIST_START = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t]*(?:---[ \t]*)?(?:#[^\n]*)?\r?\n)*[ \t]*(?:\[|-[ \t\r\n])")


ByPolicy = Mapping[ObjectKey, tuple[str, ...]]
"""The objects that policies changed, each with the names of those."""


def by_policy_data(by_policy: ByPolicy) -> dict[str, Any]:
    """Return what a program reads of it, under `by_policy`; nothing where no policy changed anything."""
    return {"by_policy": {str(key): list(names) for key, names in sorted(by_policy.items())}} if by_policy else {}


def print_by_policy(target: Console, by_policy: ByPolicy) -> None:
    """Name each object that policies changed, in a line of its own."""
    for key, names in sorted(by_policy.items()):
        target.print(Text(printable(f"{key} is changed by policy {', '.join(names)}")), soft_wrap=True)


def _inventory(paths: Sequence[str]) -> tuple[tuple[Node, ...], tuple[Document, ...]]:
    """Return nodes, and the rendered documents of the design that they are in; a plain list is in none."""
    sources = read_sources(paths)
    lists = [source for source in sources if LIST_START.match(source.content) and len(source.content) <= MAX_BYTES]
    if lists and len(sources) > 1:
        raise click.UsageError(f"{lists[0].name} is a plain list of nodes; give it alone, without other files.")
    if lists:
        return _plain_list(lists[0]), ()
    documents, problems = load_sources(sources)
    if problems:
        raise Refused(problems)
    try:
        rendered = render_files(documents, installed_policies().policies).documents
        return tuple(nodes_from_documents(rendered)), rendered
    except StrategyLibError as error:
        raise Refused(error.problems) from error


def _with_nodes_of(strategies: RenderedFiles, inventory: Sequence[Document]) -> RenderedFiles:
    """Return the strategies of files as policies leave them in a design with these nodes; all other is the nodes'.

    Raises `PolicyError`: the policies cannot judge the two together.
    """
    if not inventory:
        return strategies
    own = [one for one in strategies.documents if one.schema in _STRATEGIC]
    others = [one for one in inventory if one.schema not in _STRATEGIC]
    policed = police(Rendering(tuple(map(RenderedDocument, [*own, *others]))), installed_policies().policies)
    documents = tuple(one.document for one in policed.rendering.documents if one.document.schema in _STRATEGIC)
    return RenderedFiles(documents, strategies.problems, {**strategies.by_policy, **policed.by_policy})


def _plain_list(source: Source) -> tuple[Node, ...]:
    try:
        text = source.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = source.content.count(b"\n", 0, error.start) + 1
        raise Refused([Problem("$", "not UTF-8; save the file as UTF-8", line, source=source.name)]) from error
    reader = YamlReader(text, source.name, Limits())
    documents = [document for document in reader.documents() if document.value is not None]
    problems = [
        *reader.problems,
        *(problem for document in documents for problem in document.repeated if problem.level == "error"),
    ]
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


_STRATEGIC = (STRATEGY_SCHEMA, CONFIGURATION_SCHEMA)


@dataclass(frozen=True, slots=True)
class StrategyInput:
    """A valid strategy and the nodes of the site.

    Attributes
    ----------
    document : where the strategy stands; None for the default strategy (rule 22).
    nodes : empty when the files have none.
    warnings : what rendering found; host profiles and node sets that are missing; kinds that are nearly known; that a
        deployment would not use this strategy.
    by_policy : the objects that policies changed, each with the names of those.
    """

    name: str
    strategy: Strategy
    document: Document | None
    nodes: tuple[Node, ...]
    warnings: tuple[Problem, ...]
    by_policy: ByPolicy = field(default_factory=dict)


def strategy_option(command: Command) -> Command:
    """Add `--strategy` to a command."""
    return click.option(
        "--strategy",
        metavar="NAME",
        help="Strategy to use, if not the one that the deployment configuration names.",
    )(command)


def load_strategy_input(
    paths: Sequence[str], strategy_name: str | None, node_paths: Sequence[str] = ()
) -> StrategyInput:
    """Read the strategy from `paths`, and the nodes from `node_paths` or, when there are none, from `paths` as well.

    Raises `Refused` with every problem of the documents; `click.UsageError` when a file cannot be read, or it is not
    clear which strategy is meant.
    """
    documents, problems = load_sources(read_sources(paths))
    if problems:
        raise Refused(problems)
    try:
        rendered = render_files(documents, installed_policies().policies)
        nodes, around = _inventory(node_paths) if node_paths else ((), ())
        rendered = _with_nodes_of(rendered, around)
        documents, by_policy = list(rendered.documents), rendered.by_policy
        name, strategy, document = _strategy(documents, strategy_name)
        unused = [found for found in unused_strategies(documents) if document and found.document == document.label]
        notes = (*rendered.problems, *unknown_kinds(documents), *unused)
        if node_paths:
            return StrategyInput(name, strategy, document, nodes, notes, by_policy)
        nodes = tuple(nodes_from_documents(documents))
        if document is None and not nodes and find_document(documents, CONFIGURATION_SCHEMA) is None:
            raise click.UsageError(f"There is no {STRATEGY_SCHEMA} document in {listed(paths)}.")
        return StrategyInput(name, strategy, document, nodes, (*notes, *missing_makers(documents)), by_policy)
    except StrategyLibError as error:
        raise Refused(error.problems) from error


def _strategy(documents: Sequence[Document], name: str | None) -> tuple[str, Strategy, Document | None]:
    strategies = find_documents(documents, STRATEGY_SCHEMA)
    configured = find_document(documents, CONFIGURATION_SCHEMA) is not None
    if name is None and not configured and DEFAULT_STRATEGY_NAME not in strategies and strategies:
        # Files without a configuration are drafts: the only strategy among them is the one that is meant.
        if len(strategies) > 1:
            raise click.UsageError(f"There are several strategies; choose one with --strategy: {listed(strategies)}.")
        (name,) = strategies
    if name is not None:
        if name not in strategies:
            there = f"there are {listed(strategies)}" if strategies else "there is none at all"
            raise click.UsageError(f"There is no strategy named '{name}'; {there}.")
        document = strategies[name]
        return name, parse_strategy(document.data, document), document
    design = read_design(documents)
    found = strategies.get(design.configuration.strategy_name)
    # By rule 22 the default one has no document.
    return (found.name if found else "default"), design.strategy, found
