"""Commit a site's documents: what can be known to be wrong is said now, and not in the middle of a deployment."""

from __future__ import annotations

from typing import Any

from site_store import SiteStore
from slipway_airflow.airflow_settings import longest_mapping
from slipway_airflow.errors import CommitError
from strategy_lib.design import read_design
from strategy_lib.documents import load_documents
from strategy_lib.errors import ConfigurationError, DocumentError, InventoryError, Problem, StrategyError

# A design that comes as one text is one collection.
_COLLECTION = "design"


def message_of(problem: Problem) -> dict[str, Any]:
    """Return a problem in the shape of Airship's messages."""
    return {
        "message": str(problem),
        "error": problem.level == "error",
        "level": problem.level.capitalize(),
        "kind": "ValidationMessage",
        "document": problem.document,
        "path": problem.path,
        "line": problem.line,
    }


def commit(site: str, body: bytes, user: str) -> dict[str, Any]:
    """Check and store the documents as the site's newest revision.

    Returns
    -------
    dict
        ``site``, ``revision`` (number), ``digest``, ``created`` (False: the newest revision has this very content)
        and ``warnings``.

    Raises
    ------
    CommitError
        With every problem at once (rules 1-3).
    """
    try:
        documents = load_documents(body, f"site {site}")
        design = read_design(documents)
        if not design.nodes:
            raise InventoryError(
                [Problem("$", "the documents have no drydock/BaremetalNode/v1: there is nothing to deploy")]
            )
        if not design.strategy.groups:
            raise StrategyError([Problem("$.data.groups", "the strategy has no groups: there is nothing to deploy")])
        if len(design.strategy.groups) > longest_mapping():
            limit = longest_mapping()
            message = f"Airflow can map at most {limit} groups: merge some, or raise [core] max_map_length"
            raise StrategyError([Problem("$.data.groups", message)])
    except (DocumentError, StrategyError, ConfigurationError, InventoryError) as error:
        messages = [message_of(problem) for problem in error.problems]
        raise CommitError(f"the documents of site {site} are not valid", messages) from error
    with SiteStore.open() as store:
        text = body.decode("utf-8")
        named = [(_COLLECTION, document) for document in documents]
        revision = store.commit_revision(site, {_COLLECTION: text}, named, text, user)
    return {
        "site": site,
        "revision": revision.number,
        "digest": revision.digest,
        "created": revision.created,
        "warnings": [message_of(problem) for problem in design.warnings],
    }
