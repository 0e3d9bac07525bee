"""Which documents that make nodes differ between two revisions of a site, and in which fields, without their secrets.

The plan of a site, the dry run of an action and the page of a node use `documents_between`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from design_rendering.changes import node_changes
from design_rendering.redaction import PLACEHOLDER, Redactor
from site_engine.errors import EngineError
from strategy_lib.errors import StrategyLibError

if TYPE_CHECKING:
    from design_rendering.changes import DocumentChange
    from site_store import SiteStore


class DesignUnreadable(EngineError):
    """The design of a revision cannot be read any more: it was forced, or kept by an older version of Slipway."""


def documents_between(
    store: SiteStore, site: str, before: int, after: int, names: Collection[str]
) -> Mapping[str, tuple[DocumentChange, ...]]:
    """Return for each of these nodes the documents that make it and differ between two revisions.

    Parameters
    ----------
    names : names of nodes of the revision `after`.

    Raises
    ------
    DesignUnreadable : one of the two designs is not kept as it was rendered, or cannot be read.
    """
    designs = store.revisions.designs(site, (before, after))
    old, new = designs[before], designs[after]
    if old.text is None or new.text is None:
        number = before if old.text is None else after
        raise DesignUnreadable(f"the rendered design of revision {number} of site {site} is not kept")
    secrets = [each.secrets for each in (old, new) if each.secrets is not None]
    texts = frozenset(text for each in secrets for text in each.texts)
    try:
        return node_changes(old.text, new.text, names, Hiding(texts) if len(secrets) == 2 else _hidden)
    except StrategyLibError as error:
        # Its words may be those of the rendered design, secrets and all.
        raise DesignUnreadable(f"revisions {before} and {after} of site {site} cannot be read any more") from error


def _hidden(value: Any) -> Any:
    """Hide a value of a design of which it is not known what in it is secret."""
    return PLACEHOLDER


class Hiding:
    """Takes secrets out of values, short ones too where they are all of a value."""

    def __init__(self, texts: Collection[str]) -> None:
        self._texts = frozenset(texts)
        self._redactor = Redactor(texts, PLACEHOLDER)

    def __call__(self, value: Any) -> Any:
        """Return the value without the secrets."""
        if isinstance(value, Mapping):
            return {key: self(item) for key, item in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [self(item) for item in value]
        if value is None or isinstance(value, bool):
            return value
        return PLACEHOLDER if str(value) in self._texts else self._redactor.redact_value(value)
