"""Success criteria of a group: what they are and how they are judged, in integers (rules 15-17)."""

from __future__ import annotations

from dataclasses import dataclass

from strategy_lib.phase import Phase


@dataclass(frozen=True, slots=True)
class SuccessCriteria:
    """Conditions a group must meet after each phase; None means "not asked for", 0 is a value."""

    percent_successful_nodes: int | None = None
    minimum_successful_nodes: int | None = None
    maximum_failed_nodes: int | None = None


EVERY_NODE = SuccessCriteria(percent_successful_nodes=100)
"""What is asked for where nobody says otherwise, and of named nodes (rules 21 and 22)."""


@dataclass(frozen=True, slots=True)
class CriterionResult:
    """One criterion after one phase: what was needed, what there was, and whether that is enough.

    `actual` of `percent_successful_nodes` is the exact fraction as text, such as "29/50".
    """

    phase: Phase
    criterion: str
    needed: int
    actual: int | str
    met: bool


def evaluate(
    criteria: SuccessCriteria | None, phase: Phase, total: int, successful: int
) -> tuple[CriterionResult, ...]:
    """Judge every criterion that is set, each on its own, over all nodes of a group (rules 16 and 17).

    The group fails when one of them is not met; where none is set, it cannot.

    Parameters
    ----------
    successful : how many of them were successful; every other one counts as failed (rule 15).
    """
    if criteria is None:
        return ()
    results = []
    failed = total - successful
    percent = criteria.percent_successful_nodes
    if percent is not None:
        # Integers only: 29 of 50 is exactly 58 %. With no nodes both sides are 0, and percent is met.
        met = successful * 100 >= percent * total
        results.append(CriterionResult(phase, "percent_successful_nodes", percent, f"{successful}/{total}", met))
    minimum = criteria.minimum_successful_nodes
    if minimum is not None:
        met = successful >= minimum
        results.append(CriterionResult(phase, "minimum_successful_nodes", minimum, successful, met))
    maximum = criteria.maximum_failed_nodes
    if maximum is not None:
        results.append(CriterionResult(phase, "maximum_failed_nodes", maximum, failed, failed <= maximum))
    return tuple(results)
