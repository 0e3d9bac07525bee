"""A design of Slipway's own documents, as the backends read it that deploy machines one by one: what it says of nodes,
which of them selectors choose, and what a provisioner lacks for it. Only the reading of documents is not pure.

For selectors what the design states counts. Where it states nothing, what the provisioner knows does; tags of both
count together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from design_rendering.kinds.imported_site import ImportedMachine
from design_rendering.kinds.slipway_nodes import HOST_NAME, SlipwayNode, read_slipway_nodes
from design_rendering.reading.documents import load_documents
from provisioner_client.designs import DesignMessage, DesignSource, DesignValidation
from provisioner_client.errors import DesignUnreadable, SubmissionRefused
from strategy_lib.errors import Problem, StrategyLibError
from strategy_lib.phase import Phase
from strategy_lib.strategy import Label, Selector

NODE: Final = "slipway/Node/v1"
LONGEST_NAME: Final = 128
"""Characters of a tag or a rack in a document."""
WITHOUT_DESIGN: Final = (Phase.DESTROY, Phase.RELEASE, Phase.PREPARE)
"""What is removed from a site need not stand in any design any more."""
_ERROR: Final = "Error"
_MOST: Final = 200


class Named(Protocol):
    """A machine as a provisioner has it."""

    @property
    def name(self) -> str:
        """Its host name."""
        ...


MachineT = TypeVar("MachineT", bound=Named)


def by_name(machines: Iterable[MachineT]) -> dict[str, list[MachineT]]:
    """Return machines by their names; a provisioner may have two of the same name."""
    found: dict[str, list[MachineT]] = {}
    for machine in machines:
        found.setdefault(machine.name, []).append(machine)
    return found


@dataclass(frozen=True, slots=True)
class Design:
    """The nodes of a design, or what is wrong with its documents. `digest` is that of their text."""

    digest: str
    nodes: Mapping[str, SlipwayNode] = field(default_factory=dict, repr=False)
    problems: tuple[str, ...] = ()


def read_design(source: DesignSource) -> Design:
    """Read a design's documents. Raises `DesignUnreadable`: their text cannot be had."""
    try:
        text = source.read()
    except LookupError as error:
        raise DesignUnreadable("its documents are needed, and cannot be read") from error
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    try:
        return Design(digest, read_slipway_nodes(load_documents(text, "the design")))
    except StrategyLibError as error:
        problems: Sequence[Problem] = getattr(error, "problems", ())
        # The lines are those of the rendered text, which nobody has written.
        said = [f"{one.document}: {one.path}: {one.message}" if one.document else str(one) for one in problems]
        return Design(digest, problems=tuple(said or [str(error)]))


class DesignReader:
    """Reads each design once, by its address."""

    def __init__(self) -> None:
        self._read: dict[str, Design] = {}

    def read(self, source: DesignSource) -> Design:
        """Return a design. Raises `DesignUnreadable`: its documents cannot be had."""
        if source.address not in self._read:
            self._read[source.address] = read_design(source)
        return self._read[source.address]

    def for_task(self, phase: Phase, source: DesignSource) -> Design:
        """Return what a task of this phase needs of a design; nothing where it can do without, and it cannot be had.

        Raises `SubmissionRefused`: it is needed, and not valid; `DesignUnreadable`: it cannot be had.
        """
        try:
            design = self.read(source)
        except DesignUnreadable:
            if phase in WITHOUT_DESIGN:
                return Design("")
            raise
        if design.problems and phase not in WITHOUT_DESIGN:
            raise SubmissionRefused(f"the design is not valid: {'; '.join(design.problems[:5])}")
        return design


def require_host_names(nodes: Collection[str], provisioner: str) -> None:
    """Refuse what is no host name. Raises `SubmissionRefused`."""
    bad = sorted(name for name in nodes if HOST_NAME.fullmatch(name) is None)
    if bad:
        raise SubmissionRefused(f"these are no host names, as {provisioner} has them: {', '.join(bad[:10])}")


def node_error(name: str, text: str) -> DesignMessage:
    """Return an error about a node of the design."""
    return DesignMessage(_ERROR, text, (f"{NODE}/{name}",))


def validation_of(design: Design, lacks: Callable[[], Iterable[DesignMessage]]) -> DesignValidation:
    """Say what is wrong with a design.

    Parameters
    ----------
    lacks : what a provisioner lacks for it; it is asked for a design that has nodes, and nothing wrong.
    """
    if design.problems:
        messages = [DesignMessage(_ERROR, text, ()) for text in design.problems]
    elif not design.nodes:
        messages = [DesignMessage(_ERROR, f"the design has no {NODE}", ())]
    else:
        messages = list(lacks())
    messages.sort(key=lambda message: message.level != _ERROR)
    valid = not any(message.level == _ERROR for message in messages)
    return DesignValidation(valid, tuple(messages[:_MOST]), max(0, len(messages) - _MOST))


@dataclass(frozen=True, slots=True)
class KnownMachine:
    """What a provisioner knows of a machine that selectors choose by.

    Attributes
    ----------
    racks : the names that its rack may have; where the design names none, one of them counts.
    has_label : whether it has a label, of which the design states no value.
    """

    tags: frozenset[str]
    racks: frozenset[str]
    has_label: Callable[[Label], bool]


def select(
    nodes: Mapping[str, SlipwayNode], machines: Mapping[str, KnownMachine], selectors: Sequence[Selector]
) -> frozenset[str]:
    """Return the nodes that the selectors choose among those that the provisioner has (rules 5 and 6)."""
    known = {name: node for name, node in nodes.items() if name in machines}
    if not selectors or any(selector.is_all for selector in selectors):
        return frozenset(known)
    return frozenset(
        name for name, node in known.items() if any(_matches(selector, node, machines[name]) for selector in selectors)
    )


def _matches(selector: Selector, node: SlipwayNode, machine: KnownMachine) -> bool:
    """OR inside a criterion, AND between them; an empty one is no criterion."""
    racks = machine.racks if node.rack is None else frozenset({node.rack})
    return (
        (not selector.node_names or node.name in selector.node_names)
        and (not selector.node_tags or not (node.tags | machine.tags).isdisjoint(selector.node_tags))
        and (not selector.rack_names or not racks.isdisjoint(selector.rack_names))
        and (not selector.node_labels or any(_has(label, node, machine) for label in selector.node_labels))
    )


def _has(label: Label, node: SlipwayNode, machine: KnownMachine) -> bool:
    stated = node.labels.get(label.key)
    return machine.has_label(label) if stated is None else stated == label.value


@dataclass(frozen=True, slots=True)
class Inventory:
    """The machines of a site, for each that is left out its name, or its id, and why; and what to know of all."""

    machines: tuple[ImportedMachine, ...]
    left_out: Mapping[str, str]
    notes: tuple[str, ...] = ()


class HasInventory(Protocol):
    """A client of a provisioner whose machines can become documents."""

    @property
    def limits(self) -> str:
        """What limits the site's part of the provisioner, for a message."""
        ...

    def check(self) -> str:
        """Say whether it can be used; see `Provisioner.check`."""
        ...

    def inventory(self) -> Inventory:
        """Give all machines of the site as documents can say them, and those that they cannot."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


def unfit_name(name: str, of_its_name: int) -> str:
    """Say why a machine cannot be a node by its name; "" where it can.

    Parameters
    ----------
    of_its_name : how many machines have it.
    """
    if not name:
        return "it has no host name"
    if HOST_NAME.fullmatch(name) is None:
        return "its name is no host name: letters, digits and -, at most 63 of them"
    return f"{of_its_name} machines have this name: a node needs one of its own" if of_its_name > 1 else ""
