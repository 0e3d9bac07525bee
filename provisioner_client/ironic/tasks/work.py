"""What a task's driver is given: how nodes are acted on, and what one call is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from design_rendering.kinds.slipway_nodes import SlipwayNode
from provisioner_client.ironic.inventory import LabelWords
from provisioner_client.protocol import ACTIONS
from strategy_lib.phase import Phase

Nodes = Callable[[], Mapping[str, SlipwayNode]]


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """How nodes are acted on, how patiently, and what they are to designs.

    Parameters
    ----------
    parallel : how many nodes of the site are on their way to another state at once at most.
    inspect : nodes are inspected before they are made available.
    settle : seconds for which a request whose answer was lost may still take effect.
    first_look : seconds before the first look at nodes that cannot be marked yet; each further wait is twice as long.
    words : where their labels and racks stand.
    image, checksum : for nodes whose design has no image.
    asked_by : who asks, for the name of a shared list.
    """

    parallel: int = 50
    inspect: bool = False
    settle: float = 120.0
    first_look: float = 1.0
    words: LabelWords = field(default_factory=LabelWords)
    image: str = ""
    checksum: str = ""
    asked_by: str = ""


@dataclass(slots=True)
class Work:
    """What one call is about. `places`: how many nodes more may be sent on their way."""

    phase: Phase
    reference: str
    nodes: Nodes | None
    guard: Callable[[], None]
    places: int = 0
    looked_at: float = 0.0
    """When the nodes were read that it is about, by the driver's clock."""
    lost: set[str] = field(default_factory=set)
    """The nodes of which it is not known whether they have the task's mark: the answer was lost."""
    refused: dict[str, str] = field(default_factory=dict)
    """The nodes whose mark Ironic itself does not take, and why."""

    @property
    def action(self) -> str:
        """The task's word for what is done."""
        return ACTIONS[self.phase]
