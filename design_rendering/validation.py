"""Validating documents by what they are rendered to: whole sites as a commit does, and any files, drafts included."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from design_rendering import slipway_kinds
from design_rendering.design import Design, read_design, unused_strategies, used_strategies
from design_rendering.drydock_kinds import PASSED_ON, READ
from design_rendering.kinds.drydock_nodes import missing_parts
from design_rendering.kinds.health_urls import refused_addresses
from design_rendering.kinds.nodes import (
    NODE_SCHEMAS,
    has_nodes,
    missing_makers,
    node_limit_problems,
    nodes_from_documents,
)
from design_rendering.kinds.objects import ObjectKey
from design_rendering.kinds.provisioner_kinds import provisioner_problems
from design_rendering.kinds.slipway_nodes import shape_problems
from design_rendering.policies import NO_POLICIES, DesignPolicy, PolicyError, police
from design_rendering.reading.documents import Document, RenderingError, find_document, find_documents
from design_rendering.redaction import PLACEHOLDER, is_secret
from design_rendering.rendering import RenderedDocument, Rendering, render
from strategy_lib.did_you_mean import suggestion
from strategy_lib.errors import Problem, Step, StrategyLibError, path_of
from strategy_lib.node import Node
from strategy_lib.parsing.configuration import CONFIGURATION_SCHEMA, parse_configuration
from strategy_lib.parsing.node_networks import ALL_BUT_SPECIAL, NodeNetworks
from strategy_lib.parsing.notifications import NOTIFICATIONS_SCHEMA, parse_notifications
from strategy_lib.parsing.site_settings import SITE_SETTINGS_SCHEMA, parse_site_settings
from strategy_lib.parsing.strategy_parser import parse_strategy
from strategy_lib.settings import SLIPWAY_NODE_NETWORKS, SettingError
from strategy_lib.strategy import STRATEGY_SCHEMA
from strategy_lib.warnings import group_count_problem, strategy_warnings

# Every report names the groups and settings that were applied.
_SHOWN = (STRATEGY_SCHEMA, CONFIGURATION_SCHEMA, NOTIFICATIONS_SCHEMA, SITE_SETTINGS_SCHEMA)
_EXPOSED = "groups and settings are shown to everybody: write it in plain"

# A site has one document of each, at most.
_SETTINGS: Mapping[str, Callable[..., object]] = {
    CONFIGURATION_SCHEMA: parse_configuration,
    NOTIFICATIONS_SCHEMA: parse_notifications,
    SITE_SETTINGS_SCHEMA: parse_site_settings,
}

CHECKED = (*_SHOWN, *NODE_SCHEMAS, slipway_kinds.NODE_SET_SCHEMA, slipway_kinds.SITE_SCHEMA)

_READ = (*_SHOWN, *READ, *slipway_kinds.NODE_MAKERS)
_NEAR = 0.85


@dataclass(frozen=True, slots=True)
class Validation:
    """What was found in rendered documents.

    Attributes
    ----------
    problems : all errors and warnings.
    exposed : those of them that are secrets in what everybody may see.
    design : what a deployment takes from the documents, where that can be read.
    """

    problems: tuple[Problem, ...]
    exposed: tuple[Problem, ...]
    design: Design | None


@dataclass(frozen=True, slots=True)
class RenderedFiles:
    """The documents of files that count, rendered and judged by policies; what was found; what policies changed."""

    documents: tuple[Document, ...]
    problems: tuple[Problem, ...] = ()
    by_policy: Mapping[ObjectKey, tuple[str, ...]] = field(default_factory=dict)


def render_files(documents: Sequence[Document], policies: Mapping[str, DesignPolicy] = NO_POLICIES) -> RenderedFiles:
    """Return the documents that count, rendered as a commit renders them, and what was found on the way.

    Files without any node are drafts, parts of a site: what they cannot be rendered or judged without may stand
    elsewhere, so that all that is wrong is a warning, and the documents count as they are written.

    Raises `RenderingError` or `PolicyError`: there are nodes, and the documents cannot be rendered, or judged.
    """
    try:
        policed = police(render(documents), policies)
    except (RenderingError, PolicyError) as error:
        if has_nodes(documents):
            raise
        return RenderedFiles(tuple(documents), tuple(replace(found, level="warning") for found in error.problems))
    rendering = policed.rendering
    return RenderedFiles(
        tuple(rendered.document for rendered in rendering.documents), rendering.warnings, policed.by_policy
    )


def validate_files(
    documents: Sequence[Document],
    policies: Mapping[str, DesignPolicy],
    *,
    draft: bool = False,
    complete: bool = True,
) -> RenderedFiles:
    """Validate documents as they are written, as a commit with these policies would, in the order of the files.

    Parameters
    ----------
    draft : the documents may be a part of a site: see `validate_rendering`.
    complete : False where more files belong to these and cannot be read: nothing is said of what they may hold.
    """
    if not complete:
        return RenderedFiles((), tuple(_in_order(documents, unrendered_problems(documents))))
    written = [*duplicates(documents), *(found for document in documents for found in placeholders(document))]
    if written:
        return RenderedFiles((), tuple(_in_order(documents, [*written, *unrendered_problems(documents)])))
    policed = None
    try:
        rendering = render(documents)
        policed = police(rendering, policies)
    except RenderingError as error:
        return RenderedFiles((), tuple(_in_order(documents, [*error.problems, *unrendered_problems(documents)])))
    except PolicyError as error:
        # A policy may miss what stands in another file of the site.
        part = draft and not has_nodes(documents)
        judged = [replace(problem, level="warning") if part else problem for problem in error.problems]
    else:
        rendering, judged = policed.rendering, []
    problems = validate_rendering(rendering, draft=draft).problems
    return RenderedFiles(
        tuple(rendered.document for rendered in rendering.documents),
        tuple(_in_order(documents, [*judged, *problems])),
        {} if policed is None else policed.by_policy,
    )


def validate_rendering(
    rendering: Rendering,
    *,
    draft: bool = False,
    most_groups: int | None = None,
    provisioner: str | None = None,
    installation: Mapping[str, str] | None = None,
) -> Validation:
    """Validate a rendered design, as a commit does; the one function for the command line and the server.

    Parameters
    ----------
    draft : the documents may be a part of a site. What may stand in another file is a warning then (a host profile, the
        strategy that is named), or nothing is said of it (networks, hardware, that there is nothing to deploy).
    most_groups : how many groups one action can have; None: any number.
    provisioner : the kind of provisioner that the site's connection leads to; None: not known.
    installation : its environment variables; None: not known, and what `SLIPWAY_NODE_NETWORKS` may refuse is a warning.
    """
    documents = [rendered.document for rendered in rendering.documents]
    exposed = exposed_secrets(rendering)
    counts = document_counts(documents)
    nodes = sum(counts[schema] for schema in NODE_SCHEMAS)
    found = [*_problems(documents), *(() if draft else missing_parts(documents))]
    found += [*provisioner_problems(documents, provisioner), *node_limit_problems(documents)]
    found += [replace(problem, level="warning" if draft else "error") for problem in _maker_warnings(documents)]
    design = None
    try:
        design = read_design(documents)
        found += [] if draft else [*design.warnings, *_scope_problems(documents, design, most_groups)]
        found += _address_problems(documents, design, installation)
    except StrategyLibError as error:
        # A configuration that is checked by itself may well name a strategy that stands in another file.
        alone = draft and not counts[STRATEGY_SCHEMA] and not nodes
        found += [replace(problem, level="warning") if alone else problem for problem in error.problems]
    if draft and documents and not any(counts.values()):
        message = "nothing here is checked: there is no deployment strategy, no configuration and no node"
        found.append(Problem("$", message, source=documents[0].source, level="warning"))
    if not draft and not nodes:
        sources = {document.source for document in documents}
        source = sources.pop() if len(sources) == 1 else None
        found.append(
            Problem("$", f"there is no {' and no '.join(NODE_SCHEMAS)}: there is nothing to deploy", source=source)
        )
    problems = [*rendering.warnings, *exposed, *_in_order(documents, found)]
    return Validation(tuple(dict.fromkeys(problems)), tuple(exposed), design)


def _address_problems(
    documents: Sequence[Document], design: Design, installation: Mapping[str, str] | None
) -> list[Problem]:
    health_url = design.settings.health_url
    if installation is None:
        refused = refused_addresses(documents, health_url, ALL_BUT_SPECIAL)
        return [replace(problem, level="warning") for problem in refused]
    try:
        networks = SLIPWAY_NODE_NETWORKS.read(installation)
    except SettingError as error:
        return [Problem("$", f"the nodes of no site are asked: {error}")]
    return refused_addresses(documents, health_url, NodeNetworks(networks))


def exposed_secrets(rendering: Rendering) -> list[Problem]:
    """Return an error for each secret in groups and settings: all who may look at an action see them."""
    found = []
    for rendered in rendering.documents:
        document = rendered.document
        if document.schema not in _SHOWN:
            continue
        paths = ("$.metadata.storagePolicy",) if is_secret(document) else rendered.secret_paths
        found += [document.problem(path, _EXPOSED) for path in paths]
    return found


def unrendered_problems(documents: Sequence[Document]) -> list[Problem]:
    """Return what can be said although the documents cannot be rendered, or some cannot be read.

    That is what is wrong with documents that nothing is put into, each by itself; and secrets in what all may see. What
    seems to be missing may be there once the rest is mended.
    """
    shown = [document for document in documents if document.schema in _SHOWN]
    plain = [one for one in shown if _is_plain(one)]
    written = Rendering(tuple(map(RenderedDocument, shown)))
    read = [warning for document in documents for warning in document.warnings]
    alone = [*unknown_kinds(plain), *_settings_problems(plain)]
    alone += [problem for document in documents if _is_plain(document) for problem in shape_problems(document)]
    for document in _concrete(plain, STRATEGY_SCHEMA):
        alone += _strategy_problems(document, ())
    return [*read, *exposed_secrets(written), *_in_order(plain, alone)]


def document_counts(documents: Sequence[Document]) -> dict[str, int]:
    """Return how many documents there are of each kind that is checked."""
    return {schema: sum(1 for _ in _concrete(documents, schema)) for schema in CHECKED}


def _is_plain(document: Document) -> bool:
    """Return whether nothing is put into a document, neither from a parent nor by a substitution."""
    layering = document.metadata.get("layeringDefinition")
    has_parent = isinstance(layering, Mapping) and "parentSelector" in layering
    return "substitutions" not in document.metadata and not has_parent


def _problems(documents: Sequence[Document]) -> list[Problem]:
    """Return what is wrong with, or to be said of, each part by itself."""
    found = [*unknown_kinds(documents), *_settings_problems(documents)]
    nodes: list[Node] = []
    try:
        nodes = nodes_from_documents(documents)
    except StrategyLibError as error:
        found += error.problems
    # Without its host profile nobody knows which groups a node is in.
    known = () if _maker_warnings(documents) else nodes
    used = used_strategies(documents)
    for document in _concrete(documents, STRATEGY_SCHEMA):
        problems = _strategy_problems(document, known)
        unused = used is not None and document.name not in used
        found += [replace(problem, level="warning") for problem in problems] if unused else problems
    with contextlib.suppress(StrategyLibError):  # what is wrong is found above
        found += unused_strategies(documents)
    return found


def _settings_problems(documents: Sequence[Document]) -> list[Problem]:
    """Return names that are there twice, and what is wrong with configurations."""
    found = _errors(find_documents, documents, STRATEGY_SCHEMA)
    for schema, parse in _SETTINGS.items():
        found += _errors(find_document, documents, schema)
        for document in _concrete(documents, schema):
            found += _errors(parse, document.data, document)
    return found


def _maker_warnings(documents: Sequence[Document]) -> list[Problem]:
    with contextlib.suppress(StrategyLibError):
        return missing_makers(documents)
    return []


def _scope_problems(documents: Sequence[Document], design: Design, most_groups: int | None) -> list[Problem]:
    """Return that a good design has no group at all, or more than can be carried out."""
    message = group_count_problem(len(design.strategy.groups), most_groups)
    if message is None:
        return []
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
    return strategy_warnings(strategy, nodes, document)


def _errors(read: Callable[..., object], *arguments: object) -> list[Problem]:
    try:
        read(*arguments)
    except StrategyLibError as error:
        return list(error.problems)
    return []


def unknown_kinds(documents: Sequence[Document]) -> list[Problem]:
    """Return a warning for each document whose schema is nearly one that Slipway reads: it is passed by."""
    unknown = {document.schema for document in documents}.difference(_READ, PASSED_ON)
    hints = {schema: suggestion(schema, _READ, most=1, cutoff=_NEAR) for schema in unknown}
    return [
        document.problem("$.schema", f"not read: {document.schema!r} is no known kind.{hint}", "warning")
        for document in documents
        if (hint := hints.get(document.schema, ""))
    ]


def duplicates(documents: Sequence[Document]) -> Iterator[Problem]:
    """Yield a problem for each document whose schema, layer and name another has before it."""
    first: dict[tuple[str, str | None, str], Document] = {}
    for document in documents:
        other = first.setdefault((document.schema, document.layer, document.name), document)
        if other is not document:
            layer = f" of layer {document.layer!r}" if document.layer else ""
            where = f"{other.source} line {other.line}" if other.source != document.source else f"line {other.line}"
            yield document.problem(
                "$", f"there is already a {document.schema} named {document.name!r}{layer} at {where}; keep one of them"
            )


def placeholders(document: Document) -> Iterator[Problem]:
    """Yield a problem for each value that stands for a secret which was left out."""
    message = (
        f"{PLACEHOLDER} stands for a secret that was left out when the document was read; "
        "write the secret itself, or read the collection with cleartext-secrets=true"
    )
    left: list[tuple[Any, tuple[Step, ...]]] = [(document.data, ("data",))]
    seen: set[int] = set()
    while left:
        value, steps = left.pop()
        if isinstance(value, str):
            if value == PLACEHOLDER:
                yield document.problem(path_of(steps), message)
        # Aliases share their values: each is looked at once.
        elif isinstance(value, Mapping | list) and id(value) not in seen:
            seen.add(id(value))
            below = value.items() if isinstance(value, Mapping) else enumerate(value)
            left.extend((item, (*steps, step)) for step, item in below)
