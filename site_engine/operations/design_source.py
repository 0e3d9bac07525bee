"""The design of an operation, as a provisioner gets it: by its address, or as the text of its documents."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from provisioner_client.designs import DesignSource
from site_engine.provisioners import token_of_address

if TYPE_CHECKING:
    from site_store import Operation, SiteStore


def design_source(store: SiteStore, operation: Operation) -> DesignSource:
    """Return where a provisioner gets an operation's design. The store is read only if the documents are asked for."""
    return DesignSource(operation.design_ref, partial(_text, store, operation))


def _text(store: SiteStore, operation: Operation) -> str:
    """Return the documents of an operation's design, for a provisioner that does not fetch them.

    What is removed from a site is not in the design of its action.
    """
    action = store.actions.get(operation.action_id)
    number = store.revisions.number_of_token(action.site, token_of_address(operation.design_ref))
    text = store.revisions.get(action.site, number or action.revision).text
    if text is None:
        raise LookupError(f"the revision of operation {operation.op} has no design")
    return text
