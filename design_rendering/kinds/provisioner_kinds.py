"""Whether the kinds of documents in a design fit the site's provisioner: Drydock reads its own, others Slipway's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from design_rendering import drydock_kinds, slipway_kinds
from design_rendering.kinds.slipway_nodes import site_provisioner
from design_rendering.reading.documents import Document, find_document
from strategy_lib.errors import Problem, StrategyLibError

DRYDOCK: Final = "drydock"
MAAS: Final = "maas"
IRONIC: Final = "ironic"
PROVISIONERS: Final[Mapping[str, str]] = {DRYDOCK: "Drydock", MAAS: "MAAS", IRONIC: "Ironic"}
"""The kinds of provisioners, as a site's document writes them, and what people call them."""

# What they read, Drydock and those that read Slipway's own: the kind that describes machines, and the others.
_OWN: Final = "own"
_NODES: Final = {DRYDOCK: drydock_kinds.NODE_SCHEMA, _OWN: slipway_kinds.NODE_SCHEMA}
_OTHERS: Final = {
    DRYDOCK: frozenset({*drydock_kinds.READ, *drydock_kinds.PASSED_ON} - {drydock_kinds.NODE_SCHEMA}),
    _OWN: frozenset(slipway_kinds.NODE_MAKERS) - {slipway_kinds.NODE_SCHEMA, slipway_kinds.SITE_SCHEMA},
}
_READERS: Final = {DRYDOCK: "Drydock", _OWN: "MAAS or Ironic"}


def provisioner_problems(documents: Sequence[Document], connected: str | None = None) -> list[Problem]:
    """Return what of a rendered design does not fit the provisioner; each kind once, at its first document.

    Machines that the provisioner does not know are an error; what it only does not read is a warning.

    Parameters
    ----------
    connected : the kind of provisioner to which the site's connection leads, which decides; None: not known. Then the
        site's document decides, and without one no kind is better than the other, but only one may be there.
    """
    try:
        site = find_document(documents, slipway_kinds.SITE_SCHEMA)
    except StrategyLibError:
        return []  # that there are two is said where they are read
    data = site.data if site is not None and isinstance(site.data, Mapping) else {}
    said, real = _known(data.get("provisioner")), _known(connected)
    problems = []
    if site is not None and said and real and said != real:
        problems.append(site.problem("$.data.provisioner", _other_connection(said, real)))
    kind = real or said
    if kind is None:
        return [*problems, *_mixed(documents)]
    if site is not None and kind == DRYDOCK:
        unused = [name for name in ("labels", "defaults") if data.get(name)]
        says = "is for nodes on MAAS or Ironic: Drydock takes labels and the like from host profiles; write them there"
        problems += [site.problem(f"$.data.{name}", says) for name in unused]
    if site is not None and kind != IRONIC and data.get("enroll"):
        says = f"is for Ironic: {PROVISIONERS[kind]} gets to know machines in its own way; leave it out"
        problems.append(site.problem("$.data.enroll", says))
    foreign = _OWN if kind == DRYDOCK else DRYDOCK
    for schema in (_NODES[foreign], *sorted(_OTHERS[foreign])):
        its = _of_kind(documents, schema)
        if its:
            is_node = schema == _NODES[foreign]
            problems.append(_foreign(its, kind, foreign, is_node=is_node))
    return problems


def provisioner_of(documents: Sequence[Document]) -> str | None:
    """Return the kind of provisioner that a good design is for: as its site says, else by its nodes; None: not known.

    Of those that read Slipway's own nodes it is MAAS where no site says which.

    Raises `DocumentError`: there are two documents about the site.
    """
    said = _known(site_provisioner(documents))
    nodes = {DRYDOCK: _NODES[DRYDOCK], MAAS: _NODES[_OWN]}
    return said or next((kind for kind, schema in nodes.items() if _of_kind(documents, schema)), None)


def _known(kind: object) -> str | None:
    return kind if isinstance(kind, str) and kind in PROVISIONERS else None


def _other_connection(said: str, connected: str) -> str:
    return (
        f"the site's connection leads to {PROVISIONERS[connected]}: write {connected}, or give the site a connection "
        f"to {PROVISIONERS[said]}, which is named slipway_provisioner_SITE"
    )


def _mixed(documents: Sequence[Document]) -> Iterable[Problem]:
    """Yield that there are machines of both kinds, where nothing says which provisioner the site has."""
    own, others = _of_kind(documents, _NODES[_OWN]), _of_kind(documents, _NODES[DRYDOCK])
    if own and others:
        first = own[0] if documents.index(own[0]) > documents.index(others[0]) else others[0]
        says = (
            f"a site has one provisioner, and here are {len(own)} nodes for {_READERS[_OWN]} ({_NODES[_OWN]}) and "
            f"{len(others)} for Drydock ({_NODES[DRYDOCK]}): keep those of the site's provisioner"
        )
        yield first.problem("$.schema", says)


def _foreign(its: Sequence[Document], kind: str, foreign: str, *, is_node: bool) -> Problem:
    first, reader = its[0], DRYDOCK if kind == DRYDOCK else _OWN
    more = "" if len(its) == 1 else f", as are {len(its) - 1} more documents"
    what = f"{first.schema} is for {_READERS[foreign]}{more}, and the site's provisioner is {PROVISIONERS[kind]}"
    if is_node:
        return first.problem("$.schema", f"{what}: describe its machines as {_NODES[reader]}")
    return first.problem("$.schema", f"{what}: it is not read; leave it out", "warning")


def _of_kind(documents: Sequence[Document], schema: str) -> list[Document]:
    return [document for document in documents if document.schema == schema and not document.abstract]
