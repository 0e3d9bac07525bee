"""Which strategy a command means, and the nodes it is about: read from the files named on the command line."""

from collections.abc import Sequence
from dataclasses import dataclass

import click

from design_rendering.design import read_design, unused_strategies
from design_rendering.documents import Document, find_document, find_documents
from design_rendering.drydock_kinds import missing_profiles, nodes_from_documents
from design_rendering.validation import render_files, unknown_kinds
from slipway_cli.files import load_sources, read_sources
from slipway_cli.inventory import load_inventory
from slipway_cli.output import Command, Refused
from slipway_cli.printable import listed
from strategy_lib.configuration import CONFIGURATION_SCHEMA, DEFAULT_STRATEGY_NAME
from strategy_lib.errors import Problem, StrategyLibError
from strategy_lib.node import Node
from strategy_lib.strategy import STRATEGY_SCHEMA, Strategy
from strategy_lib.strategy_parser import parse_strategy

DEFAULT_NAME = "default"  # how the strategy of rule 22 is called


@dataclass(frozen=True, slots=True)
class Wanted:
    """A valid strategy and the nodes of the site.

    Attributes
    ----------
    document : Document or None
        Where the strategy stands; None for the default strategy (rule 22).
    nodes : tuple of Node
        Empty when the files have none.
    warnings : tuple of Problem
        What rendering found; host profiles that are missing; kinds that are nearly known; that a deployment would
        not use this strategy.
    """

    name: str
    strategy: Strategy
    document: Document | None
    nodes: tuple[Node, ...]
    warnings: tuple[Problem, ...]


def strategy_option(command: Command) -> Command:
    """Add `--strategy` to a command."""
    return click.option(
        "--strategy",
        metavar="NAME",
        help="Strategy to use, if not the one that the deployment configuration names.",
    )(command)


def load_wanted(paths: Sequence[str], strategy_name: str | None, node_paths: Sequence[str] = ()) -> Wanted:
    """Read the strategy from `paths`, and the nodes from `node_paths` or, when there are none, from `paths` as well.

    Raises
    ------
    Refused
        With every problem of the documents.
    click.UsageError
        When a file cannot be read, or it is not clear which strategy is meant.
    """
    documents, problems = load_sources(read_sources(paths))
    if problems:
        raise Refused(problems)
    try:
        documents, found = render_files(documents)
        name, strategy, document = _strategy(documents, strategy_name)
        unused = [found for found in unused_strategies(documents) if document and found.document == document.label]
        notes = (*found, *unknown_kinds(documents), *unused)
        if node_paths:
            return Wanted(name, strategy, document, load_inventory(node_paths), notes)
        nodes = tuple(nodes_from_documents(documents))
        if document is None and not nodes and find_document(documents, CONFIGURATION_SCHEMA) is None:
            raise click.UsageError(f"There is no {STRATEGY_SCHEMA} document in {listed(paths)}.")
        return Wanted(name, strategy, document, nodes, (*notes, *missing_profiles(documents)))
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
    return (found.name if found else DEFAULT_NAME), design.strategy, found
