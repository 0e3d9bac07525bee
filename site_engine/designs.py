"""The design of an action: reading it, having the provisioner check it and see all its nodes; and how two differ.

Drydock keeps what an address led to for as long as it runs, also that it led nowhere; and it takes the body of a 503
for a design without nodes. So an address is used until a fetch failed or showed too few nodes, and then never again.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from design_rendering.changes import DocumentChange, node_changes
from design_rendering.reading.documents import Document, load_documents
from design_rendering.redaction import PLACEHOLDER, Redactor
from provisioner_client.designs import DesignSource, DesignValidation
from provisioner_client.errors import DesignEmpty, DesignUnreadable
from provisioner_client.protocol import Provisioner
from site_engine.errors import EngineError, StepError
from site_engine.log_messages import names
from site_store import RevisionRecord, SiteStore
from strategy_lib.errors import StrategyLibError
from strategy_lib.strategy import Selector

log = logging.getLogger(__name__)

ADDRESSES: Final = 3
"""How many addresses of a design are tried at most, in one check."""

DRYDOCK: Final = "Drydock"
"""What people call the backend of which alone some of these sentences are true."""
INGESTER: Final = "drydock_provisioner.ingester.plugins.deckhand.DeckhandIngester"
REFUSAL_STAYS: Final = (
    "Drydock keeps a refusal for a design's text until it is started again: what was mended elsewhere, such as a "
    "missing image in MAAS, counts only once something in the documents is changed, even a comment"
)
_LARGEST_FETCH: Final = 99_999


@dataclass(frozen=True, slots=True)
class DesignCheck:
    """What the provisioner makes of a design.

    Attributes
    ----------
    validation : whether it accepts the design, and its remarks.
    nodes, missing : how many nodes the design has, and which of them the provisioner does not see; nothing is known of
        that where it refuses the design.
    fetch : which address was used last, for `ProvisionerConnection.design_address`.
    backend : what people call the provisioner.
    """

    validation: DesignValidation
    nodes: int
    missing: tuple[str, ...]
    fetch: int
    backend: str = DRYDOCK

    @property
    def shortage(self) -> str:
        """What is missing and why that may be, as a sentence; empty when nothing is."""
        if not self.missing:
            return ""
        if len(self.missing) < self.nodes:
            return (
                f"the provisioner sees only {self.nodes - len(self.missing)} of the design's {self.nodes} nodes, and "
                f"not: {names(self.missing)}. What did it get from the design's address?"
            )
        none = f"the provisioner accepts the design and sees none of its {self.nodes} nodes."
        if self.backend != DRYDOCK:
            return f"{none} Does its connection lead to the part of {self.backend} in which they are?"
        return (
            f"{none} Is its ingester the one for "
            f"these documents (drydock.conf: [plugins] ingester = {INGESTER}; the default, YamlIngester, finds no "
            "nodes in them)? Or did something else than Slipway answer at the design's address?"
        )


def refusal_stays(backend: str) -> str:
    """Say what is to be known of a design that was refused, of this backend; nothing of those that forget it."""
    return REFUSAL_STAYS if backend == DRYDOCK else ""


def check_design(
    provisioner: Provisioner,
    address: Callable[[int], str],
    text: str,
    nodes: Collection[str],
    fetch: int,
    *,
    patience: float = float("inf"),
    backend: str = DRYDOCK,
    clock: Callable[[], float] = time.monotonic,
) -> DesignCheck:
    """Have a design checked, and look whether the provisioner sees its nodes.

    Parameters
    ----------
    address : gives the address for a fetch.
    text : the design's documents.
    nodes : the names of the design's nodes. Others that the provisioner sees are of no interest.
    fetch : the address to begin with: the one that was good before, or 0.
    backend : what people call the provisioner, for messages.
    patience : seconds after which no further address is tried. Drydock takes half a minute for one that leads nowhere.

    Raises
    ------
    provisioner_client.errors.ProvisionerError : it could not be asked. `DesignUnreadable`: none of the addresses led to
        a design.
    """
    started = clock()
    for number in range(1, ADDRESSES + 1):
        last = number == ADDRESSES or clock() - started > patience
        try:
            found = _checked(provisioner, DesignSource(address(fetch), lambda: text), nodes, fetch, backend)
        except DesignUnreadable as error:
            if last or clock() - started > patience:
                raise
            log.warning("%s; another address is tried.", error)
        else:
            if last or not found.missing:
                return found
            log.warning(
                "Of %d nodes the provisioner does not see %d; another address is tried.",
                found.nodes,
                len(found.missing),
            )
        fetch = secrets.randbelow(_LARGEST_FETCH) + 1
    raise AssertionError("the last round returns or raises")  # pragma: no cover


def _checked(
    provisioner: Provisioner, design: DesignSource, nodes: Collection[str], fetch: int, backend: str
) -> DesignCheck:
    validation = provisioner.validate_design(design)
    if not validation.valid or not nodes:
        return DesignCheck(validation, len(nodes), (), fetch, backend)
    try:
        seen = provisioner.select_nodes(design, [Selector()])
    except DesignEmpty:
        seen = frozenset()
    return DesignCheck(validation, len(nodes), tuple(sorted(set(nodes) - seen)), fetch, backend)


def read_revision(store: SiteStore, site: str, number: int | None) -> tuple[RevisionRecord, list[Document]]:
    """Return a revision and its rendered documents.

    Raises `StepError`: it was forced although it could not be rendered: there is nothing to deploy;
    `site_store.RevisionNotFound`: the site has no revision of this number, or no revision at all.
    """
    revision = store.revisions.get(site, number)
    if revision.text is None:
        said = "; ".join(revision.problems[:5]) or "see its problems"
        raise StepError(
            f"revision {revision.number} of site {site} was forced although it could not be rendered, so there is no "
            f"design to work with ({said}): mend the documents and commit them, or name another revision"
        )
    return revision, load_documents(revision.text, f"site {site}, revision {revision.number}")


class RevisionUnreadable(EngineError):
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
    RevisionUnreadable : one of the two designs is not kept as it was rendered, or cannot be read.
    """
    designs = store.revisions.designs(site, (before, after))
    (old, hidden_before), (new, hidden_after) = designs[before], designs[after]
    if old is None or new is None:
        number = before if old is None else after
        raise RevisionUnreadable(f"the rendered design of revision {number} of site {site} is not kept")
    secrets = [each for each in (hidden_before, hidden_after) if each is not None]
    texts = frozenset(text for each in secrets for text in each.texts)
    try:
        return node_changes(old, new, names, Hiding(texts) if len(secrets) == 2 else _hidden)
    except StrategyLibError as error:
        # Its words may be those of the rendered design, secrets and all.
        raise RevisionUnreadable(f"revisions {before} and {after} of site {site} cannot be read any more") from error


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
