"""The design of a site as a deployment needs it: configuration, strategy, nodes and digests, read from documents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import ParamSpec, TypeVar

from design_rendering.kinds.health_urls import health_url_problems, ready_problems
from design_rendering.kinds.nodes import missing_makers, node_documents, nodes_from_documents
from design_rendering.kinds.objects import DigestKey, PlainDigest, node_digests
from design_rendering.reading.documents import Document, DocumentError, find_document, find_documents
from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.errors import Problem, StrategyError, StrategyLibError, problem_at
from strategy_lib.groups.node_order import has_order, node_edges, order_cycles, order_problems
from strategy_lib.node import Node
from strategy_lib.parsing.configuration import (
    CONFIGURATION_SCHEMA,
    DEFAULT_STRATEGY_NAME,
    DeploymentConfiguration,
    named_strategy,
    parse_configuration,
)
from strategy_lib.parsing.notifications import NOBODY, NOTIFICATIONS_SCHEMA, Notifications, parse_notifications
from strategy_lib.parsing.site_settings import DEFAULT_SETTINGS, SITE_SETTINGS_SCHEMA, SiteSettings, parse_site_settings
from strategy_lib.parsing.strategy_parser import parse_strategy
from strategy_lib.strategy import STRATEGY_SCHEMA, Strategy, default_strategy
from strategy_lib.warnings import strategy_warnings

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Design:
    """What a deployment takes from a site's documents.

    Attributes
    ----------
    configuration : the settings; the defaults where the site has no configuration.
    strategy : the named strategy, or the default one (rule 22).
    nodes : all nodes of the site, in document order.
    plain_digests : node name to the digest of what makes it, without a key: see `keyed`.
    warnings : what deserves a second look (rule 4), and what nodes are made of and is missing.
    notifications : who is told what; nobody where the site has no such document.
    settings : how Slipway goes about the site; the defaults where the site has no such document.
    edges : node to the nodes that it waits for, as groups and nodes name them (rule 39).
    """

    configuration: DeploymentConfiguration
    strategy: Strategy
    nodes: tuple[Node, ...]
    plain_digests: Mapping[str, PlainDigest]
    warnings: tuple[Problem, ...]
    notifications: Notifications = NOBODY
    settings: SiteSettings = DEFAULT_SETTINGS
    edges: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def keyed(self, key: DigestKey) -> KeyedDesign:
        """Return the design with its digests as one store has them (rule 62)."""
        same = {each.name: getattr(self, each.name) for each in fields(Design)}
        return KeyedDesign(**same, digests={name: plain.keyed(key) for name, plain in self.plain_digests.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedDesign(Design):
    """A design that can be compared with what a store knows: `digests` has that of each node, by its name."""

    digests: Mapping[str, str]


def read_design(documents: Iterable[Document]) -> Design:
    """Read the design of a site.

    The configuration names the strategy. Without a configuration, or a name in it, a strategy named
    `deployment-strategy` is used if there is one; else the default one (rule 22). A part that is wrong keeps no other
    part from being read (rule 3).

    Raises `StrategyLibError`: a DocumentError, StrategyError or InventoryError; where several parts
    are wrong, one DocumentError with the problems of all of them.
    """
    all_documents = list(documents)
    errors: list[StrategyLibError] = []
    first = next(iter(_first_of_each(all_documents, CONFIGURATION_SCHEMA).values()), None)
    configuration_document = _attempt(errors, first, find_document, all_documents, CONFIGURATION_SCHEMA)
    configuration = DeploymentConfiguration()
    if configuration_document is not None:
        data = configuration_document.data
        configuration = _attempt(errors, configuration, parse_configuration, data, configuration_document)
    strategy_document = _strategy_document(errors, all_documents, configuration_document)
    strategy = default_strategy()
    if strategy_document is not None:
        strategy = _attempt(errors, strategy, parse_strategy, strategy_document.data, strategy_document)
    no_nodes: list[Node] = []
    no_digests: dict[str, PlainDigest] = {}
    before = len(errors)
    nodes = _attempt(errors, no_nodes, nodes_from_documents, all_documents)
    all_known = len(errors) == before
    digests = _attempt(errors, no_digests, node_digests, all_documents, nodes)
    notifications = _attempt(errors, NOBODY, read_notifications, all_documents)
    settings = _attempt(errors, DEFAULT_SETTINGS, read_site_settings, all_documents)
    settings_document = None if errors else find_document(all_documents, SITE_SETTINGS_SCHEMA)
    about_agents = health_url_problems(all_documents, settings.health_url, settings_document)
    if any(problem.level == "error" for problem in about_agents):
        errors.append(DocumentError(about_agents))
    if not errors:
        about_ready = ready_problems(all_documents, strategy, nodes, settings.health_url, strategy_document)
        if about_ready:
            errors.append(DocumentError(about_ready))
    no_edges: Mapping[str, tuple[str, ...]] = {}
    edges = no_edges
    if all_known:
        edges = _attempt(errors, no_edges, read_edges, all_documents, strategy, nodes, strategy_document)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise DocumentError(dict.fromkeys(problem for error in errors for problem in error.problems))
    warnings = [*strategy_warnings(strategy, nodes, strategy_document), *missing_makers(all_documents)]
    warnings += [*unused_strategies(all_documents), *about_agents]
    return Design(configuration, strategy, tuple(nodes), digests, tuple(warnings), notifications, settings, edges)


def read_edges(
    documents: Sequence[Document], strategy: Strategy, nodes: Sequence[Node], strategy_document: Document | None
) -> Mapping[str, tuple[str, ...]]:
    """Return which nodes wait for which, as groups and nodes name them (rule 39).

    Raises `StrategyError` with names that no node has, and with cycles, each with its path, document and line.
    """
    if not has_order(strategy, nodes):
        return {}
    written = node_documents(documents)
    problems = [
        problem_at(found.path, found.message, strategy_document if found.node is None else written[found.node])
        for found in order_problems(strategy, nodes)
    ]
    cycles = order_cycles(strategy, nodes)
    problems += [problem_at(one.path, one.message, strategy_document) for one in cycles]
    if problems:
        raise StrategyError(problems)
    return node_edges(strategy, nodes)


def read_notifications(documents: Iterable[Document]) -> Notifications:
    """Read who is told what about a site; nobody without such a document.

    Raises `StrategyLibError`: there are two of these documents, or the document is wrong.
    """
    document = find_document(list(documents), NOTIFICATIONS_SCHEMA)
    return NOBODY if document is None else parse_notifications(document.data, document)


def read_site_settings(documents: Iterable[Document]) -> SiteSettings:
    """Read the settings of a site; the defaults without such a document.

    Raises `StrategyLibError`: there are two of these documents, or the document is wrong.
    """
    document = find_document(list(documents), SITE_SETTINGS_SCHEMA)
    return DEFAULT_SETTINGS if document is None else parse_site_settings(document.data, document)


def _attempt(
    errors: list[StrategyLibError], otherwise: T, read: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Return what `read` returns; where it cannot, keep its error and return `otherwise`."""
    try:
        return read(*args, **kwargs)
    except StrategyLibError as error:
        errors.append(error)
        return otherwise


def _strategy_document(
    errors: list[StrategyLibError], documents: list[Document], configuration: Document | None
) -> Document | None:
    """Return the strategy document that the configuration, or the lack of one, leads to (rule 22)."""
    stand_in = _first_of_each(documents, STRATEGY_SCHEMA)
    strategies = _attempt(errors, stand_in, find_documents, documents, STRATEGY_SCHEMA)
    # Not from the settings that were read: there are none where any of them is wrong.
    name = named_strategy(configuration.data) if configuration is not None else None
    if configuration is not None and name is not None and name not in strategies:
        there = f"there are {', '.join(sorted(strategies))}" if strategies else "there is none at all"
        message = f"there is no {STRATEGY_SCHEMA} named {name!r}; {did_you_mean(name, list(strategies), there)}"
        path = "$.data.physical_provisioner.deployment_strategy"
        errors.append(DocumentError([configuration.problem(path, message)]))
    return strategies.get(name or DEFAULT_STRATEGY_NAME)


def _first_of_each(documents: list[Document], schema: str) -> dict[str, Document]:
    """Return the first document of each name: it stands in where there are too many, so that reading can go on."""
    return {
        document.name: document
        for document in reversed(documents)
        if document.schema == schema and not document.abstract
    }


def used_strategies(documents: Sequence[Document]) -> Collection[str] | None:
    """Return the name of the strategy that a deployment of these documents uses, nothing for the default one (rule 22).

    None where that is not clear: there are no nodes and no configuration, the configuration names a strategy that is
    not there, or there are two of one name.
    """
    try:
        strategies = find_documents(documents, STRATEGY_SCHEMA)
        configuration = find_document(documents, CONFIGURATION_SCHEMA)
        if configuration is None and not node_documents(documents):
            return None
    except StrategyLibError:
        return None
    name = named_strategy(configuration.data) if configuration is not None else None
    if name is None:
        return {DEFAULT_STRATEGY_NAME}.intersection(strategies)
    return {name} if name in strategies else None


def unused_strategies(documents: Sequence[Document]) -> list[Problem]:
    """Return a warning for each strategy of a site that a deployment would pass by (rule 22); says what to add.

    Files without nodes are drafts, and drafts are not deployed as they are. A strategy beside the one that is used is
    left alone: somebody who has several knows how to choose.

    Raises `StrategyLibError`: two documents have the same name, or the configuration is wrong.
    """
    strategies = find_documents(documents, STRATEGY_SCHEMA)
    if not strategies or not node_documents(documents):
        return []
    configuration = find_document(documents, CONFIGURATION_SCHEMA)
    named = configuration and parse_configuration(configuration.data, configuration).deployment_strategy
    if named is not None or DEFAULT_STRATEGY_NAME in strategies:
        return []
    place = "add `%s` to the deployment configuration" if configuration else f"add a {CONFIGURATION_SCHEMA} with `%s`"
    remedy = f"{place}, or name the strategy '{DEFAULT_STRATEGY_NAME}'"
    return [_unused_warning(document, remedy) for document in strategies.values()]


def _unused_warning(document: Document, remedy: str) -> Problem:
    entry = f"physical_provisioner: {{deployment_strategy: {document.name}}}"
    message = "a deployment would not use this strategy, but deploy all nodes as one critical group; " + remedy % entry
    return document.problem("$", message, "warning")
