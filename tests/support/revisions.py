"""A design that is one text, committed as one collection without a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from design_rendering.design import read_design
from design_rendering.kinds.objects import design_objects
from design_rendering.policies import police
from design_rendering.reading.documents import Document, load_documents
from design_rendering.redaction import secret_values
from design_rendering.rendering import RenderedDocument, Rendering, render
from design_rendering.validation import exposed_secrets
from site_engine.extensions import OWN_POLICIES
from site_engine.plans.planning import committed_groups, racks_of
from site_store import CommittedObjects, NewRevision, RevisionRecord, RevisionSecrets, SiteStore
from strategy_lib.errors import StrategyLibError

COLLECTION = "design"


def commit_design(
    store: SiteStore, site: str, text: str, documents: Sequence[Document] | None = None, user: str = "tester"
) -> RevisionRecord:
    """Commit a text as it is, rendered as itself; its documents are read from it unless they are given."""
    read = load_documents(text) if documents is None else documents
    members = [(COLLECTION, document) for document in read]
    try:
        key = store.secret_texts.digest_key()
        design = read_design(read).keyed(key)
        # Only a substitution brings a secret into a group's name.
        exposed = exposed_secrets(render(read)) if "substitutions" in text else []
    except StrategyLibError:
        return store.revisions.commit(NewRevision(site, {COLLECTION: text}, members, text, user))
    return store.revisions.commit(
        NewRevision(
            site,
            {COLLECTION: text},
            members,
            text,
            user,
            digests=design.digests,
            groups=committed_groups(design),
            racks=racks_of(design),
            objects=CommittedObjects(design_objects(read, design.nodes, key)),
            settings=design.settings.to_data(),
            hidden=RevisionSecrets(frozenset(secret_values(read)), tuple(map(str, exposed))),
        )
    )


def plain_digests(text: str) -> set[str]:
    """Return each digest of a rendered design that anybody can make who guesses what is secret in it (rule 62)."""
    rendering = Rendering(tuple(map(RenderedDocument, load_documents(text))))
    documents = [one.document for one in rendering.documents]
    design = read_design(documents)
    of_nodes = [part for one in design.plain_digests.values() for part in (one.rest, one.labels)]
    of_objects = [one.digest for one in design_objects(documents, design.nodes)]
    return {*of_nodes, *of_objects, *police(rendering, OWN_POLICIES).judged.values()}
