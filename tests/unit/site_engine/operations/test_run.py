"""The right to submit lasts as long as the submission, and ends with the process."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import cast

import pytest

from site_engine.operations import run
from site_store import SiteStore


class Leases:
    """Counts renewals."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, str, float]] = []

    def acquire_lease(self, op: int, owner: str, seconds: float) -> bool:
        """Note the question."""
        self.asked.append((op, owner, seconds))
        return True


def test_rule_12_a_long_submission_keeps_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LEASE_SECONDS", 0.15)
    leases = Leases()
    with run.renewed_lease(cast(SiteStore, SimpleNamespace(operations=leases)), 7, "me"):
        time.sleep(0.5)
    renewals = len(leases.asked)
    assert renewals >= 3
    assert set(leases.asked) == {(7, "me", 0.15)}
    time.sleep(0.2)
    assert len(leases.asked) == renewals, "it ends with the submission"
