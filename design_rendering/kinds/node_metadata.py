"""What a node's metadata says to Slipway alone, whatever kind of document describes the node."""

from __future__ import annotations

from design_rendering.reading.documents import Document
from strategy_lib.errors import Problem
from strategy_lib.parsing.strategy_parser import choice_problems, node_choices
from strategy_lib.strategy import NodeChoice


def depends_on_nodes(document: Document, problems: dict[Problem, None]) -> tuple[NodeChoice, ...]:
    """Return the nodes that a node waits for: `metadata.depends_on_nodes`, which provisioners do not read (rule 39).

    What is wrong with it is added to `problems`.
    """
    value = document.metadata.get("depends_on_nodes")
    if value is None:
        return ()
    path = "$.metadata.depends_on_nodes"
    found = choice_problems(value, path)
    problems.update(dict.fromkeys(document.problem(problem.path, problem.message) for problem in found))
    return () if found else node_choices(value)


def is_monitored(document: Document) -> bool:
    """Return whether a node's state is judged: unless `metadata.monitor` is false."""
    return document.metadata.get("monitor") is not False
