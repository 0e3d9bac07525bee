"""The design of a site as a deployment needs it: configuration, strategy, nodes and digests, read from documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from strategy_lib.configuration import CONFIGURATION_SCHEMA, DeploymentConfiguration, parse_configuration
from strategy_lib.digests import node_digests
from strategy_lib.documents import Document, find_document, find_documents
from strategy_lib.errors import DocumentError, Problem, StrategyLibError
from strategy_lib.inventory import missing_profiles, nodes_from_documents
from strategy_lib.node import Node
from strategy_lib.selectors import NodeIndex
from strategy_lib.strategy import STRATEGY_SCHEMA, Strategy, default_strategy, parse_strategy
from strategy_lib.warnings import strategy_warnings

DEFAULT_STRATEGY_NAME = "deployment-strategy"


@dataclass(frozen=True, slots=True)
class Design:
    """What a deployment takes from a site's documents.

    Attributes
    ----------
    configuration
        The settings; the defaults where the site has no configuration.
    strategy
        The named strategy, or the default one (rule 22).
    nodes
        All nodes of the site, in document order.
    digests
        Node name to the digest of what makes it.
    warnings
        What deserves a second look (rule 4), and host profiles that are missing.
    """

    configuration: DeploymentConfiguration
    strategy: Strategy
    nodes: tuple[Node, ...]
    digests: Mapping[str, str]
    warnings: tuple[Problem, ...]

    def members(self) -> dict[str, frozenset[str]]:
        """Return the names of each group's nodes."""
        index = NodeIndex(self.nodes)
        return {group.name: index.select(group.selectors) for group in self.strategy.groups}


def read_design(documents: Iterable[Document]) -> Design:
    """Read the design of a site.

    The configuration names the strategy. Without a configuration, a strategy named `deployment-strategy` is used if
    there is one; else the default one.

    Raises
    ------
    StrategyLibError
        DocumentError, ConfigurationError, StrategyError or InventoryError; where several parts are wrong, one
        DocumentError with the problems of all of them.
    """
    all_documents = list(documents)
    problems: list[StrategyLibError] = []
    configuration = DeploymentConfiguration()
    strategy = default_strategy()
    strategy_document = None
    nodes: list[Node] = []
    try:
        configuration, strategy_document = _configuration(all_documents)
    except StrategyLibError as error:
        problems.append(error)
    try:
        if strategy_document is not None:
            strategy = parse_strategy(strategy_document.data, strategy_document)
    except StrategyLibError as error:
        problems.append(error)
    try:
        nodes = nodes_from_documents(all_documents)
    except StrategyLibError as error:
        problems.append(error)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise DocumentError(dict.fromkeys(problem for error in problems for problem in error.problems))
    index = NodeIndex(nodes)
    members = {group.name: index.select(group.selectors) for group in strategy.groups}
    warnings = [
        *strategy_warnings(strategy, members, index.names, strategy_document),
        *missing_profiles(all_documents),
    ]
    if strategy_document is None:
        warnings += _unused_strategies(all_documents)
    return Design(configuration, strategy, tuple(nodes), node_digests(all_documents), tuple(warnings))


def _unused_strategies(documents: list[Document]) -> list[Problem]:
    """Warn of strategies that nothing leads to: whoever wrote them expects their groups (rule 22)."""
    message = f"not used: no {CONFIGURATION_SCHEMA} names it, and all nodes are one critical group instead"
    return [
        Problem("$", message, document.line, document.label, "warning", document.source)
        for document in find_documents(documents, STRATEGY_SCHEMA).values()
    ]


def _configuration(documents: list[Document]) -> tuple[DeploymentConfiguration, Document | None]:
    """Return the settings and the strategy document that they lead to."""
    document = find_document(documents, CONFIGURATION_SCHEMA)
    if document is None:
        return DeploymentConfiguration(), find_document(documents, STRATEGY_SCHEMA, DEFAULT_STRATEGY_NAME)
    configuration = parse_configuration(document.data, document)
    name = configuration.deployment_strategy
    if name is None:
        return configuration, None
    strategies = find_documents(documents, STRATEGY_SCHEMA)
    if name not in strategies:
        there = f"there are {', '.join(sorted(strategies))}" if strategies else "there is none at all"
        message = f"there is no {STRATEGY_SCHEMA} named {name!r}; {there}"
        raise DocumentError([document.problem("$.data.physical_provisioner.deployment_strategy", message)])
    return configuration, strategies[name]
