"""The right to submit lasts as long as the submission, and ends with the process."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import cast

import pytest

from site_engine.operations import run
from site_store import SiteStore


class Leases:
    """Notes renewals."""

    def __init__(self) -> None:
        self.asked: set[tuple[int, str, float]] = set()
        self.renewed = threading.Semaphore(0)

    def acquire_lease(self, op: int, owner: str, seconds: float) -> bool:
        """Note the question."""
        self.asked.add((op, owner, seconds))
        self.renewed.release()
        return True


def test_rule_12_a_long_submission_keeps_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LEASE_SECONDS", 0.03)
    leases = Leases()
    with run.renewed_lease(cast(SiteStore, SimpleNamespace(operations=leases)), 7, "me"):
        for _ in range(3):
            assert leases.renewed.acquire(timeout=60), "it is renewed again and again"
    assert leases.asked == {(7, "me", 0.03)}
    assert "lease-7" not in {thread.name for thread in threading.enumerate()}, "it ends with the submission"
