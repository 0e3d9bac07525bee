"""Everything that is found in documents, at once: it asks the parts of this room and judges little by itself.

`check` judges whatever files a person has at hand, drafts included. `check_site` judges the documents of a whole site,
before they are committed and before an action.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from strategy_lib.configuration import CONFIGURATION_SCHEMA, parse_configuration
from strategy_lib.design import Design, read_design
from strategy_lib.documents import Document, find_document, find_documents
from strategy_lib.errors import Problem, StrategyLibError
from strategy_lib.inventory import NODE_SCHEMA, missing_profiles, nodes_from_documents
from strategy_lib.kinds import unknown_kinds
from strategy_lib.node import Node
from strategy_lib.references import missing_parts
from strategy_lib.strategy import STRATEGY_SCHEMA, parse_strategy
from strategy_lib.unused import unused_strategies, used_strategies
from strategy_lib.warnings import NO_GROUPS, draft_warnings

CHECKED = (STRATEGY_SCHEMA, CONFIGURATION_SCHEMA, NODE_SCHEMA)


@dataclass(frozen=True, slots=True)
class SiteCheck:
    """What was found in the documents of a site: errors and warnings, and its design where that can be read."""

    problems: tuple[Problem, ...]
    design: Design | None


def check(documents: Sequence[Document]) -> list[Problem]:
    """Return all errors and warnings of a mixture of documents, each once, in the order of the files."""
    counts = document_counts(documents)
    found = [*_problems(documents), *_profile_warnings(documents)]
    # A configuration that is checked by itself may well name a strategy that stands in another file.
    alone = not counts[STRATEGY_SCHEMA] and not counts[NODE_SCHEMA]
    known = set(found)
    for problem in _errors(read_design, documents):
        if problem not in known:
            found.append(replace(problem, level="warning") if alone else problem)
    if documents and not any(counts.values()):
        message = "nothing here is checked: there is no deployment strategy, no configuration and no node"
        found.append(Problem("$", message, source=documents[0].source, level="warning"))
    return _in_order(documents, found)


def check_alone(documents: Sequence[Document]) -> list[Problem]:
    """Return what is wrong with each strategy and configuration by itself, whatever else there may be."""
    found = [*unknown_kinds(documents), *_settings_problems(documents)]
    for document in _concrete(documents, STRATEGY_SCHEMA):
        found += _strategy_problems(document, ())
    return _in_order(documents, found)


def check_site(documents: Sequence[Document], most_groups: int | None = None) -> SiteCheck:
    """Judge the rendered documents of a whole site.

    Beyond what `check` finds, these are errors here: that there is nothing to deploy; that a host profile is missing;
    that there are more groups than can be carried out.

    Parameters
    ----------
    documents
        All documents of the site, rendered.
    most_groups
        How many groups one action can have; None: any number.
    """
    found = [*_problems(documents), *missing_parts(documents)]
    found += [replace(problem, level="error") for problem in _profile_warnings(documents)]
    design = None
    try:
        design = read_design(documents)
        found += _scope_problems(documents, design, most_groups)
    except StrategyLibError as error:
        found += error.problems
    if not document_counts(documents)[NODE_SCHEMA]:
        sources = {document.source for document in documents}
        source = sources.pop() if len(sources) == 1 else None
        found.append(Problem("$", f"there is no {NODE_SCHEMA}: there is nothing to deploy", source=source))
    return SiteCheck(tuple(_in_order(documents, found)), design)


def document_counts(documents: Sequence[Document]) -> dict[str, int]:
    """Return how many documents there are of each kind that is checked."""
    return {schema: sum(1 for _ in _concrete(documents, schema)) for schema in CHECKED}


def _problems(documents: Sequence[Document]) -> list[Problem]:
    """Return what is wrong with, or to be said of, each part by itself."""
    found = [*unknown_kinds(documents), *_settings_problems(documents)]
    nodes: list[Node] = []
    try:
        nodes = nodes_from_documents(documents)
    except StrategyLibError as error:
        found += error.problems
    # Without its host profile nobody knows which groups a node is in.
    known = () if _profile_warnings(documents) else nodes
    used = used_strategies(documents)
    for document in _concrete(documents, STRATEGY_SCHEMA):
        problems = _strategy_problems(document, known)
        unused = used is not None and document.name not in used
        found += [replace(problem, level="warning") for problem in problems] if unused else problems
    with contextlib.suppress(StrategyLibError):  # what is wrong is told already
        found += unused_strategies(documents)
    return found


def _settings_problems(documents: Sequence[Document]) -> list[Problem]:
    """Return names that are there twice, and what is wrong with configurations."""
    found = [
        *_errors(find_documents, documents, STRATEGY_SCHEMA),
        *_errors(find_document, documents, CONFIGURATION_SCHEMA),
    ]
    for document in _concrete(documents, CONFIGURATION_SCHEMA):
        found += _errors(parse_configuration, document.data, document)
    return found


def _profile_warnings(documents: Sequence[Document]) -> list[Problem]:
    with contextlib.suppress(StrategyLibError):
        return missing_profiles(documents)
    return []


def _scope_problems(documents: Sequence[Document], design: Design, most_groups: int | None) -> list[Problem]:
    """Return that a good design has no group at all, or more than can be carried out."""
    groups = design.strategy.groups
    if groups and (most_groups is None or len(groups) <= most_groups):
        return []
    message = NO_GROUPS
    if groups:
        message = (
            f"there are {len(groups)} groups, and Airflow can map at most {most_groups}: "
            "merge some, or raise [core] max_map_length"
        )
    document = find_documents(documents, STRATEGY_SCHEMA).get(design.configuration.strategy_name)
    return [document.problem("$.data.groups", message) if document else Problem("$.data.groups", message)]


def _in_order(documents: Sequence[Document], problems: Iterable[Problem]) -> list[Problem]:
    """Return each problem once, by file and line; what is an error is no warning too."""
    sources = {document.source: place for place, document in enumerate(documents)}
    known = dict.fromkeys(problems)
    once = [problem for problem in known if problem.level == "error" or replace(problem, level="error") not in known]
    return sorted(once, key=lambda item: (sources.get(item.source or "", 0), item.line or 0))


def _concrete(documents: Sequence[Document], schema: str) -> Iterable[Document]:
    return (document for document in documents if document.schema == schema and not document.abstract)


def _strategy_problems(document: Document, nodes: Sequence[Node]) -> list[Problem]:
    try:
        strategy = parse_strategy(document.data, document)
    except StrategyLibError as error:
        return list(error.problems)
    return draft_warnings(strategy, nodes, document)


def _errors(read: Callable[..., object], *arguments: object) -> list[Problem]:
    try:
        read(*arguments)
    except StrategyLibError as error:
        return list(error.problems)
    return []
