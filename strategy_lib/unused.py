"""Strategies that stand among a site's documents and that a deployment of them would not use."""

from collections.abc import Collection, Sequence

from strategy_lib.configuration import (
    CONFIGURATION_SCHEMA,
    DEFAULT_STRATEGY_NAME,
    named_strategy,
    parse_configuration,
)
from strategy_lib.documents import Document, find_document, find_documents
from strategy_lib.errors import Problem, StrategyLibError
from strategy_lib.inventory import NODE_SCHEMA
from strategy_lib.strategy import STRATEGY_SCHEMA


def used_strategies(documents: Sequence[Document]) -> Collection[str] | None:
    """Return the name of the strategy that a deployment of these documents uses, nothing for the default one (rule 22).

    None where that is not clear: there are no nodes and no configuration, the configuration names a strategy that is
    not there, or there are two of one name.
    """
    try:
        strategies = find_documents(documents, STRATEGY_SCHEMA)
        configuration = find_document(documents, CONFIGURATION_SCHEMA)
        if configuration is None and not find_documents(documents, NODE_SCHEMA):
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
    left alone: whoever has several knows how to choose.

    Raises
    ------
    StrategyLibError
        Two documents have the same name, or the configuration is wrong.
    """
    strategies = find_documents(documents, STRATEGY_SCHEMA)
    if not strategies or not find_documents(documents, NODE_SCHEMA):
        return []
    configuration = find_document(documents, CONFIGURATION_SCHEMA)
    named = configuration and parse_configuration(configuration.data, configuration).deployment_strategy
    if named is not None or DEFAULT_STRATEGY_NAME in strategies:
        return []
    place = "add `%s` to the deployment configuration" if configuration else f"add a {CONFIGURATION_SCHEMA} with `%s`"
    remedy = f"{place}, or name the strategy '{DEFAULT_STRATEGY_NAME}'"
    return [_warning(document, remedy) for document in strategies.values()]


def _warning(document: Document, remedy: str) -> Problem:
    entry = f"physical_provisioner: {{deployment_strategy: {document.name}}}"
    message = "a deployment would not use this strategy, but deploy all nodes as one critical group; " + remedy % entry
    return Problem("$", message, document.line, document.label, "warning", document.source)
