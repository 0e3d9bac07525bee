"""Documents that would be too much: refused, or judged, with little time and memory."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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


def _laughs() -> str:
    lines = ["  a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    return HEAD + "\n".join(lines)


def _merges() -> str:
    lines = ["  a0: &a0 {k: v}"]
    lines += [f"  a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}], k{n}: v}}" for n in range(1, 12)]
    return HEAD + "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(_laughs(), "every alias counted", id="laughs"),
        pytest.param(_merges(), "every alias counted", id="merges"),
        pytest.param(f"{HEAD}  a: &a {'x' * MEGABYTE}\n  b: [{', '.join(['*a'] * 1000)}]", "characters", id="long"),
        pytest.param(f"{HEAD}  {'[' * 100_000}", "nested more than 64 deep", id="deep"),
        pytest.param(HEAD + "  a:\n" + "".join(f"{' ' * n}- \n" for n in range(3, 90)), "64 deep", id="deep blocks"),
        pytest.param(f"{HEAD}  ? [a]\n  : b", "a key must be plain text", id="key"),
        pytest.param(f"{HEAD}  &a [*a]", "must come after the end", id="itself"),
        pytest.param("--- 1\n" * 150_000, "reading ended here", id="many"),
    ],
)
def test_bombs(user: httpx.Client, store: SiteStore, text: str, expected: str) -> None:
    with little(megabytes=150):
        answer = put(user, text)
    assert_failure(answer, 400)
    assert any(expected in message for message in said(answer)), said(answer)[:3]
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


def _layered(name: str, layer: str, data: Any, **metadata: Any) -> dict[str, Any]:
    layering = {"abstract": False, "layer": layer, **metadata.pop("layering", {})}
    return document("x/Y/v1", name, data, layeringDefinition=layering, **metadata)


POLICY = document("deckhand/LayeringPolicy/v1", "layering-policy", {"layerOrder": ["global", "site"]})


def _refused(user: httpx.Client, store: SiteStore, documents: list[dict[str, Any]]) -> list[str]:
    answer = put(user, yaml.safe_dump_all(documents))
    assert answer.status_code == 201, answer.text[:1000]
    with little(megabytes=300):
        answer = commit(user)
    assert answer.status_code == 400
    assert store.revisions.newest("default") == []
    return said(answer)


def test_parents_in_a_circle(user: httpx.Client, store: SiteStore) -> None:
    merge = [{"method": "merge", "path": "."}]
    circle = [
        _layered(name, "site", {}, labels={"is": name}, layering={"parentSelector": {"is": other}, "actions": merge})
        for name, other in (("a", "b"), ("b", "a"))
    ]
    assert any("parent" in text for text in _refused(user, store, [POLICY, *circle]))


def test_substitutions_that_double_the_design_again_and_again(user: httpx.Client, store: SiteStore) -> None:
    documents = [_layered("d0", "site", {"k": "x" * 1000})]
    for number in range(1, 40):
        source = {"schema": "x/Y/v1", "name": f"d{number - 1}", "path": "."}
        documents.append(
            _layered(
                f"d{number}",
                "site",
                {},
                substitutions=[{"src": source, "dest": {"path": path}} for path in (".a", ".b")],
            )
        )
    assert _refused(user, store, [POLICY, *documents])


def test_a_large_parent_of_many(user: httpx.Client, store: SiteStore) -> None:
    merge = [{"method": "merge", "path": "."}]
    parent = _layered("p", "global", {"k": "x" * MEGABYTE}, labels={"is": "p"}, layering={"abstract": True})
    below = {"parentSelector": {"is": "p"}, "actions": merge}
    children = [_layered(f"c{number}", "site", {"n": number}, layering=below) for number in range(500)]
    assert _refused(user, store, [POLICY, parent, *children])


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
