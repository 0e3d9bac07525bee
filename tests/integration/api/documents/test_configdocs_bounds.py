"""Documents that would be too much: refused, or judged, with little time and memory."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
import yaml

from site_store import SiteStore
from tests.support.configdocs import API, assert_failure, commit, put, said
from tests.support.sites import document

# What takes longer than this has no bound.
pytestmark = pytest.mark.timeout(60)

HEAD = "schema: x/Y/v1\nmetadata: {schema: metadata/Document/v1, name: d, layeringDefinition: {layer: site}}\ndata:\n"
MEGABYTE = 1024 * 1024


@contextmanager
def little(megabytes: float) -> Iterator[None]:
    """Check that this process does not grow by much."""
    before = _largest()
    yield
    assert _largest() - before < megabytes


def _largest() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _merges() -> str:
    lines = ["  a0: &a0 {k: v}"]
    lines += [f"  a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}], k{n}: v}}" for n in range(1, 12)]
    return HEAD + "\n".join(lines)


def test_a_bomb_is_refused(user: httpx.Client, store: SiteStore) -> None:
    with little(megabytes=150):
        answer = put(user, _merges())
    assert_failure(answer, 400)
    assert any("every alias counted" in message for message in said(answer)), said(answer)[:3]
    assert store.buffers.get("default").is_empty


@pytest.mark.endurance
def test_fifty_megabytes(user: httpx.Client, store: SiteStore) -> None:
    with little(megabytes=900):
        answer = put(user, f"{HEAD}  {'x' * 50 * MEGABYTE}".encode())
        assert answer.status_code == 201, answer.text[:1000]
        assert commit(user, dryrun="true").status_code == 200
    assert user.delete(f"{API}/configdocs").status_code == 204


def test_more_than_the_most(user: httpx.Client, store: SiteStore) -> None:
    with little(megabytes=300):
        assert_failure(put(user, b"#" * (65 * MEGABYTE)), 413)
    assert store.buffers.get("default").version == 0


def test_a_thousand_problems_are_enough(user: httpx.Client, store: SiteStore) -> None:
    nodes = [
        document(
            "drydock/BaremetalNode/v1", f"n{number}", {"host_profile": "ghost", "metadata": {"rack": 7, "tags": 7}}
        )
        for number in range(700)
    ]
    put(user, yaml.safe_dump_all(nodes))
    with little(megabytes=300):
        answer = commit(user)
    assert answer.status_code == 400
    messages = answer.json()["details"]["messageList"]
    assert len(messages) == 1001
    assert answer.json()["details"]["errorCount"] > 2000
    assert messages[-1]["message"].startswith("and ")
    assert len(answer.content) < 2 * MEGABYTE
