"""Strategies that stand among a site's documents and that a deployment of them would not use."""

from collections.abc import Sequence

from strategy_lib.configuration import CONFIGURATION_SCHEMA, parse_configuration
from strategy_lib.design import DEFAULT_STRATEGY_NAME
from strategy_lib.documents import Document, find_document, find_documents
from strategy_lib.errors import Problem
from strategy_lib.inventory import NODE_SCHEMA
from strategy_lib.strategy import STRATEGY_SCHEMA


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
    if configuration is None:
        if DEFAULT_STRATEGY_NAME in strategies:
            return []
        remedy = f"add a {CONFIGURATION_SCHEMA} with `%s`, or name the strategy '{DEFAULT_STRATEGY_NAME}'"
    else:
        if parse_configuration(configuration.data, configuration).deployment_strategy is not None:
            return []
        remedy = "add `%s` to the deployment configuration"
    return [_warning(document, remedy) for document in strategies.values()]


def _warning(document: Document, remedy: str) -> Problem:
    entry = f"physical_provisioner: {{deployment_strategy: {document.name}}}"
    message = "a deployment would not use this strategy, but deploy all nodes as one critical group; " + remedy % entry
    return Problem("$", message, document.line, document.label, "warning", document.source)
