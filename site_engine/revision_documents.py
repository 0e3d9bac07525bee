"""The documents of a revision as they were rendered for the provisioner: what an action goes by."""

from __future__ import annotations

import contextlib
from functools import cache
from typing import TYPE_CHECKING

from design_rendering.errors import RenderingError
from design_rendering.judging import exposed_secrets
from design_rendering.redaction import Redactor
from design_rendering.rendering import render
from design_rendering.secret_texts import may_hide_secrets, secret_texts
from design_rendering.secrets import secret_values
from site_engine.errors import StepError
from site_store import RevisionNotFound
from strategy_lib.documents import load_documents
from strategy_lib.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from provisioner_client.redacting import Redact
    from site_store import ActionRecord, CollectionRecord, RevisionRecord, SiteStore
    from strategy_lib.documents import Document


def secrets_of(store: SiteStore, revision: RevisionRecord, documents: Iterable[Document]) -> frozenset[str]:
    """Return what of a revision must not be seen in a text: as it was stored with it, else found by rendering it again.

    Parameters
    ----------
    documents
        The rendered documents of the revision.
    """
    known = store.revision_secrets(revision.site, revision.number)
    if known is not None:
        return known.texts
    found = secret_values(documents)
    collections = store.collections(revision.site, revision.number)
    if may_hide_secrets(record.text for record in collections):
        # Nothing that is wrong by today's rules keeps an action from going by what was rendered at the commit.
        with contextlib.suppress(DocumentError, RenderingError):
            written = _as_written(collections)
            found |= secret_values(written)
            found |= secret_texts(written, render(written))
    return found


def redact_for_action(store: SiteStore, action: ActionRecord) -> Redact:
    """Return what takes the secrets of an action's revision out of a text; they are read when there is a text."""
    redactor = cache(lambda: redactor_of(store, action))
    return lambda text: redactor().redact(text)


def redact_for_site(store: SiteStore, site: str) -> Redact:
    """Return what takes the secrets of a site's newest revision out of a text; they are read when there is a text."""

    @cache
    def redactor() -> Redactor:
        try:
            revision = store.revision(site, None)
        except RevisionNotFound:
            return Redactor(())
        known = store.revision_secrets(site, revision.number)
        if known is not None:
            return Redactor(known.texts)
        documents = () if revision.text is None else load_documents(revision.text, site)
        return Redactor(secrets_of(store, revision, documents))

    return lambda text: redactor().redact(text)


def redactor_of(store: SiteStore, action: ActionRecord) -> Redactor:
    """Return what hides the secrets of an action's revision; may be slow where they were not stored with it.

    Raises
    ------
    StepError, site_store.RevisionNotFound
        There is no rendered design.
    """
    known = None if action.revision is None else store.revision_secrets(action.site, action.revision)
    if known is not None:
        return Redactor(known.texts)
    return Redactor(secrets_of(store, *read_revision(store, action.site, action.revision)))


def exposed_in(store: SiteStore, revision: RevisionRecord) -> list[str]:
    """Return a problem for each secret in groups and settings: a commit can be forced in spite of it, an action not.

    Everybody who may look at an action sees these.
    """
    known = store.revision_secrets(revision.site, revision.number)
    if known is not None:
        return list(known.exposed)
    collections = store.collections(revision.site, revision.number)
    # Secrets get there by a substitution, or with a document that is secret as a whole.
    if any(word in record.text for record in collections for word in ("substitutions", "encrypted")):
        with contextlib.suppress(DocumentError, RenderingError):
            return [str(problem) for problem in exposed_secrets(render(_as_written(collections)))]
    return []


def _as_written(collections: Iterable[CollectionRecord]) -> list[Document]:
    return [document for record in collections for document in load_documents(record.text, record.name)]


def read_revision(store: SiteStore, site: str, number: int | None) -> tuple[RevisionRecord, list[Document]]:
    """Return a revision and its rendered documents.

    Raises
    ------
    StepError
        It was forced although it could not be rendered: there is nothing to deploy.
    site_store.RevisionNotFound
        The site has no revision of this number, or no revision at all.
    """
    revision = store.revision(site, number)
    if revision.text is None:
        said = "; ".join(revision.problems[:5]) or "see its problems"
        raise StepError(
            f"revision {revision.number} of site {site} was forced although it could not be rendered, so there is no "
            f"design to work with ({said}): mend the documents and commit them, or name another revision"
        )
    return revision, load_documents(revision.text, f"site {site}, revision {revision.number}")
