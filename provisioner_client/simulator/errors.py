"""What can go wrong inside the simulator itself; faults that it plays on purpose are no exceptions (see `faults`)."""

from __future__ import annotations


class SimulatorError(Exception):
    """The simulator cannot do this; the message says what to change."""


class BadAdminRequest(SimulatorError):
    """A script, fault or node change was not understood: see provisioner_client/simulator/README.md for its fields."""


class DesignUnresolvable(SimulatorError):
    """A design_ref leads to no readable design: give a file:// or http:// reference to YAML documents."""


class FilterCrash(SimulatorError):
    """Drydock crashes on this node filter: send `node_filter: null` for all nodes, and no empty filters.

    Parameters
    ----------
    message : what is wrong with the filter.
    task_survives : True where the same filter in a task is "no nodes in scope"; otherwise the task runs for ever.
    """

    def __init__(self, message: str, *, task_survives: bool = False) -> None:
        super().__init__(message)
        self.task_survives = task_survives
