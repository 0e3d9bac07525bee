"""Whose turn it is when an earlier group has no verdict yet: its task is still coming, or never will (rule 8)."""

from __future__ import annotations

from enum import StrEnum

_OVER = frozenset({"success", "failed", "skipped", "upstream_failed", "removed"})


class Turn(StrEnum):
    """Who goes on: the earlier group, or the next one."""

    THEIRS = "theirs"
    OURS = "ours"


def whose_turn(earlier_task_state: str | None) -> Turn:
    """Return whose turn it is, by Airflow's state of the earlier group's task (None: not scheduled yet)."""
    if earlier_task_state in _OVER:
        return Turn.OURS
    return Turn.THEIRS
