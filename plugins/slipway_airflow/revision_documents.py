"""The documents of a revision as they were rendered for the provisioner: what an action goes by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from design_rendering.secrets import secret_values
from slipway_airflow.errors import StepError
from strategy_lib.documents import load_documents

if TYPE_CHECKING:
    from collections.abc import Iterable

    from site_store import RevisionRecord, SiteStore
    from strategy_lib.documents import Document

# Shorter ones Airflow does not mask either: they would mask ordinary words.
_SHORTEST_SECRET = 5


def secrets_of(documents: Iterable[Document]) -> frozenset[str]:
    """Return what of rendered documents must not be seen in a text."""
    return frozenset(value for value in secret_values(documents) if len(value) >= _SHORTEST_SECRET)


def read_revision(store: SiteStore, site: str, number: int | None) -> tuple[RevisionRecord, list[Document]]:
    """Return a revision and its rendered documents.

    Raises
    ------
    StepError
        It was forced although it could not be rendered: there is nothing to deploy.
    site_store.RevisionNotFound
        There is none of this number, or none at all.
    """
    revision = store.revision(site, number)
    if revision.text is None:
        said = "; ".join(revision.problems[:5]) or "see its problems"
        raise StepError(
            f"revision {revision.number} of site {site} was forced although it could not be rendered, so there is no "
            f"design to work with ({said}): mend the documents and commit them, or name another revision"
        )
    return revision, load_documents(revision.text, f"site {site}, revision {revision.number}")
