"""Everything that `slipway validate` finds in documents: it asks `strategy_lib` about each part and judges nothing."""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from slipway_cli.kinds import unknown_kinds
from slipway_cli.planning import make_plan, plan_warnings
from slipway_cli.unused import unused_strategies
from strategy_lib.configuration import CONFIGURATION_SCHEMA, parse_configuration
from strategy_lib.design import read_design
from strategy_lib.documents import Document, find_document, find_documents
from strategy_lib.errors import Problem, StrategyLibError
from strategy_lib.inventory import NODE_SCHEMA, missing_profiles, nodes_from_documents
from strategy_lib.node import Node
from strategy_lib.strategy import STRATEGY_SCHEMA, parse_strategy

CHECKED = (STRATEGY_SCHEMA, CONFIGURATION_SCHEMA, NODE_SCHEMA)


def check(documents: Sequence[Document]) -> list[Problem]:
    """Return all errors and warnings of a mixture of documents, each once, in the order of the files."""
    counts = document_counts(documents)
    found = [
        *unknown_kinds(documents),
        *_errors(find_documents, documents, STRATEGY_SCHEMA),
        *_errors(find_document, documents, CONFIGURATION_SCHEMA),
    ]
    for document in _concrete(documents, CONFIGURATION_SCHEMA):
        found += _errors(parse_configuration, document.data, document)
    nodes: list[Node] = []
    try:
        nodes = nodes_from_documents(documents)
        found += missing_profiles(documents)
    except StrategyLibError as error:
        found += error.problems
    for document in _concrete(documents, STRATEGY_SCHEMA):
        found += _strategy_problems(document, nodes)
    # A configuration that is checked by itself may well name a strategy that stands in another file.
    alone = not counts[STRATEGY_SCHEMA] and not counts[NODE_SCHEMA]
    with contextlib.suppress(StrategyLibError):  # what is wrong is told already
        found += unused_strategies(documents)
    known = set(found)
    for problem in _errors(read_design, documents):
        if problem not in known:
            found.append(replace(problem, level="warning") if alone else problem)
    if documents and not any(counts.values()):
        message = "nothing here is checked: there is no deployment strategy, no configuration and no node"
        found.append(Problem("$", message, source=documents[0].source, level="warning"))
    sources = {document.source: place for place, document in enumerate(documents)}
    return sorted(dict.fromkeys(found), key=lambda item: (sources.get(item.source or "", 0), item.line or 0))


def document_counts(documents: Sequence[Document]) -> dict[str, int]:
    """Return how many documents there are of each kind that is checked."""
    return {schema: sum(1 for _ in _concrete(documents, schema)) for schema in CHECKED}


def _concrete(documents: Sequence[Document], schema: str) -> Iterable[Document]:
    return (document for document in documents if document.schema == schema and not document.abstract)


def _strategy_problems(document: Document, nodes: Sequence[Node]) -> list[Problem]:
    try:
        strategy = parse_strategy(document.data, document)
    except StrategyLibError as error:
        return list(error.problems)
    return plan_warnings(strategy, make_plan(strategy, nodes), document)


def _errors(read: Callable[..., object], *arguments: object) -> list[Problem]:
    try:
        read(*arguments)
    except StrategyLibError as error:
        return list(error.problems)
    return []
