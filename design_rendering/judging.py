"""Judging documents by what they are rendered to: whole sites as a commit does, and whatever files are at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from design_rendering.errors import RenderingError
from design_rendering.rendering import RenderedDocument, Rendering, render
from design_rendering.secrets import is_secret
from strategy_lib.checking import check, check_alone, check_site
from strategy_lib.configuration import CONFIGURATION_SCHEMA
from strategy_lib.documents import Document
from strategy_lib.errors import Problem
from strategy_lib.inventory import NODE_SCHEMA
from strategy_lib.strategy import STRATEGY_SCHEMA

# What of these is in force stands in every report.
_SHOWN = (STRATEGY_SCHEMA, CONFIGURATION_SCHEMA)
_EXPOSED = "groups and settings are shown to everybody: write it in plain"


def render_files(documents: Sequence[Document]) -> tuple[list[Document], list[Problem]]:
    """Return the documents that count, rendered, and what was found on the way.

    Files without any node are drafts, parts of a site: what they cannot be rendered without may stand elsewhere, so
    that all that is wrong is a warning, and the documents count as they are written.

    Raises
    ------
    RenderingError
        There are nodes, and the documents cannot be rendered.
    """
    rendering, found = _render_files(documents)
    return [rendered.document for rendered in rendering.documents], found


def _render_files(documents: Sequence[Document]) -> tuple[Rendering, list[Problem]]:
    try:
        rendering = render(documents)
    except RenderingError as error:
        if any(document.schema == NODE_SCHEMA for document in documents):
            raise
        written = Rendering(tuple(map(RenderedDocument, documents)))
        return written, [replace(problem, level="warning") for problem in error.problems]
    return rendering, list(rendering.warnings)


def judge_files(documents: Sequence[Document], *, complete: bool = True) -> list[Problem]:
    """Return all errors and warnings of any mixture of documents, drafts included, in the order of the files.

    Parameters
    ----------
    complete
        False where more files belong to these and cannot be read: nothing is said of what they may hold.
    """
    if not complete:
        return _in_order(documents, unrendered_problems(documents))
    try:
        rendering = render(documents)
    except RenderingError as error:
        return _in_order(documents, [*error.problems, *unrendered_problems(documents)])
    rendered = [rendered.document for rendered in rendering.documents]
    return _in_order(documents, [*rendering.warnings, *exposed_secrets(rendering), *check(rendered)])


def judge_site(documents: Sequence[Document], most_groups: int | None = None) -> list[Problem]:
    """Return all errors and warnings that a commit of these documents would find by itself."""
    try:
        rendering = render(documents)
    except RenderingError as error:
        return _in_order(documents, [*error.problems, *unrendered_problems(documents)])
    found = check_site([rendered.document for rendered in rendering.documents], most_groups)
    return _in_order(documents, [*rendering.warnings, *exposed_secrets(rendering), *found.problems])


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
    plain = [one for one in shown if "substitutions" not in one.metadata and not _has_parent(one)]
    written = Rendering(tuple(map(RenderedDocument, shown)))
    read = [warning for document in documents for warning in document.warnings]
    return [*read, *exposed_secrets(written), *check_alone(plain)]


def _has_parent(document: Document) -> bool:
    layering = document.metadata.get("layeringDefinition")
    return isinstance(layering, Mapping) and "parentSelector" in layering


def _in_order(documents: Sequence[Document], problems: Sequence[Problem]) -> list[Problem]:
    sources = {document.source: place for place, document in enumerate(documents)}
    return sorted(
        dict.fromkeys(problems), key=lambda problem: (sources.get(problem.source or "", 0), problem.line or 0)
    )
