"""Documents that nobody should send: always an answer with a message, never a failure of ours, never half a write."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest
import yaml
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from site_store import SiteStore
from slipway_airflow import connections
from slipway_api.app import create_app
from slipway_api.http import airflow_access as access
from tests.support.configdocs import API, assert_failure, commit, put
from tests.support.sites import document, group

Path = tuple[str | int, ...]
LEFT_OUT = object()
"""Instead of a value: the key, or the item, is taken away."""


def _layer(layer: str, *, abstract: bool = False, **more: Any) -> dict[str, Any]:
    return {"layeringDefinition": {"abstract": abstract, "layer": layer, **more}}


def _node(name: str) -> dict[str, Any]:
    actions = [{"method": "merge", "path": "."}, {"method": "replace", "path": ".interfaces.eno1"}]
    below = _layer("site", parentSelector={"base": "node"}, actions=actions)
    secret = {
        "src": {"schema": "deckhand/Passphrase/v1", "name": "ipmi", "path": "."},
        "dest": {"path": ".oob.credential", "pattern": "PASS.*"},
    }
    data = {
        "addressing": [{"network": "oob", "address": f"10.0.0.{9 + ord(name[-1])}"}],
        "interfaces": {"eno1": {"device_link": "pxe", "slaves": ["eno1"], "networks": ["oob"]}},
        "metadata": {"rack": "r1", "tags": ["a"]},
        "oob": {"credential": "PASSWORD", "network": "oob"},
    }
    return document("drydock/BaremetalNode/v1", name, data, substitutions=[secret], **below)


BASE: list[dict[str, Any]] = [
    document("deckhand/LayeringPolicy/v1", "layering-policy", {"layerOrder": ["global", "type", "site"]}),
    document("deckhand/Passphrase/v1", "ipmi", "hunter2-hunter2", storagePolicy="encrypted"),
    document("drydock/Region/v1", "alpha", {"tag_definitions": [], "authorized_keys": []}),
    document("drydock/Network/v1", "oob", {"cidr": "10.0.0.0/24"}),
    document("drydock/HostProfile/v1", "base", {"metadata": {"owner_data": {"role": "x"}}}),
    document("drydock/HostProfile/v1", "compute", {"host_profile": "base", "hardware_profile": "dell"}),
    document(
        "drydock/BaremetalNode/v1",
        "node-base",
        {"host_profile": "compute", "interfaces": {"eno1": {"networks": ["oob"]}}, "metadata": {"tags": ["all"]}},
        labels={"base": "node"},
        **_layer("global", abstract=True),
    ),
    _node("n1"),
    _node("n2"),
    document("x/Replaced/v1", "twice", {"a": [1]}, labels={"k": "v"}, **_layer("type")),
    document(
        "x/Replaced/v1",
        "twice",
        {"b": 2},
        replacement=True,
        **_layer("site", parentSelector={"k": "v"}, actions=[{"method": "delete", "path": ".a"}]),
    ),
    document(
        "shipyard/DeploymentStrategy/v1",
        "deployment-strategy",
        {
            "groups": [
                group("control", ["n1"], percent_successful_nodes=90),
                {
                    "name": "rest",
                    "critical": False,
                    "depends_on": ["control"],
                    "selectors": [{"node_labels": ["role: x"], "node_tags": ["a"], "rack_names": ["r1"]}],
                },
            ]
        },
    ),
    document(
        "shipyard/DeploymentConfiguration/v1",
        "deployment-configuration",
        {"physical_provisioner": {"deployment_strategy": "deployment-strategy", "deploy_interval": 5}},
    ),
]


def _deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


VALUES: tuple[Any, ...] = (
    LEFT_OUT,
    None,
    True,
    0,
    -1,
    10**30,
    1e308,
    "",
    ".",
    "$",
    "..",
    ".a[",
    ".a[99999999]",
    ".interfaces.eno1.networks[0]",
    ".metadata",
    "(a+)+$",
    "(",
    "[redacted]",
    "\u202egnp",
    "\u2028",
    "ⅷ",
    "a\0b",
    "é" * 600,
    "x" * 20_000,
    "n1",
    "base",
    "compute",
    "control",
    "site",
    "global",
    "drydock/BaremetalNode/v1",
    "drydock/HostProfile/v1",
    "encrypted",
    "delete",
    [],
    {},
    [[]],
    [None],
    ["n1", "n1"],
    {"": {}},
    {"base": "node"},
    {"a": {"b": {"c": []}}},
    {"schema": "x", "name": "n1", "path": "."},
    _deep(60),
    _deep(80),
)
"""What can stand anywhere."""

SPOILT = (
    b"\xff",
    b"\0",
    b"*x",
    b"&x ",
    b"!!python/object:os.system ",
    b"<<: ",
    b"\t",
    b"{",
    b"---\n",
    b"!!int ",
    b"? ",
)
"""What can be put into the middle of a text."""


def _paths(tree: Any, here: Path = ()) -> Iterator[Path]:
    yield here
    below = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for step, value in below:
        yield from _paths(value, (*here, step))


PATHS = [path for path in _paths(BASE) if path]
"""Every place in the site."""


def changed(changes: list[tuple[Path, Any]]) -> list[Any]:
    """Return the site with other values at these places; a place that is gone by then is passed over."""
    tree = copy.deepcopy(BASE)
    for path, value in changes:
        parent: Any = tree
        try:
            for step in path[:-1]:
                parent = parent[step]
            if value is LEFT_OUT:
                del parent[path[-1]]
            else:
                parent[path[-1]] = value
        except (LookupError, TypeError):
            continue
    return tree


class _Dumper(yaml.CSafeDumper):
    """Without aliases: the values above are shared."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write everything out."""
        return True


def written(tree: list[Any], *, pure: bool) -> bytes:
    """Return the documents as YAML; `pure` has no character beyond ASCII."""
    text: str = yaml.dump_all(tree, Dumper=_Dumper, allow_unicode=not pure, explicit_start=True, sort_keys=False)
    return text.encode("utf-8", "surrogatepass")


leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8))
values = st.one_of(st.sampled_from(VALUES), st.sampled_from(VALUES), leaves, st.lists(leaves, max_size=2))
changes = st.lists(st.tuples(st.sampled_from(PATHS), values), max_size=3)


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """YAML of a site with a few things wrong, now and then spoilt as a text."""
    text = written(changed(draw(changes)), pure=draw(st.booleans()))
    if draw(st.integers(0, 7)) == 0:
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(st.sampled_from(SPOILT)) + text[place:]
    return text


@pytest.fixture(scope="module")
def anybody(airflow_app: FastAPI) -> Iterator[httpx.Client]:
    """Slipway's own application, without Airflow's around it: a thousand examples have to be quick."""
    app = create_app(connections)
    app.dependency_overrides[access.caller] = lambda: access.Caller("tester", None)
    with pytest.MonkeyPatch.context() as patch, TestClient(app) as client:
        patch.setattr(access.Caller, "may_read", lambda caller, dag_id: True)
        patch.setattr(access.Caller, "may_create", lambda caller, kind: True)
        yield client


class Facts:
    """What the store holds, read from its tables over one open connection."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True)

    def __call__(self) -> tuple[int, int]:
        """Return the buffer's version and the newest revision's number."""
        newest = b"SELECT (SELECT max(version) FROM buffer), (SELECT max(number) FROM revision)"
        found = self.connection.execute(newest).fetchone()
        assert found is not None
        return found[0] or 0, found[1] or 0


@pytest.fixture
def facts(store_url: str) -> Iterator[Facts]:
    """Look into this test's store."""
    facts = Facts(store_url)
    yield facts
    facts.connection.close()


@pytest.mark.parametrize(
    "number", [4, pytest.param(100, marks=pytest.mark.endurance), pytest.param(1000, marks=pytest.mark.soak)]
)
def test_hostile_documents(anybody: httpx.Client, store: SiteStore, facts: Facts, number: int) -> None:
    """Without a provisioner every commit has an error."""

    @settings(max_examples=number, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(text=texts(), then=st.sampled_from(("refused", "refused", "dry run", "dry run", "forced")))
    def send(text: bytes, then: str) -> None:
        send_and_look(anybody, store, facts, text, then)

    send()


def send_and_look(anybody: httpx.Client, store: SiteStore, facts: Facts, text: bytes, then: str) -> None:
    """Put a text into the buffer, do with it what is to be done then, and look at the answers and the store."""
    version, newest = facts()
    answer = put(anybody, text, "hostile", buffermode="replace")
    if answer.status_code != 201:
        assert_failure(answer, 400)
        assert facts() == (version, newest)
        return
    assert facts() == (version + 1, newest)
    if then == "forced":
        _force(anybody, store, newest + 1)
        assert facts() == (version + 2, newest + 1)
        return
    refused = commit(anybody, dryrun=str(then == "dry run"))
    assert refused.status_code == (200 if then == "dry run" else 400), refused.text
    assert refused.json()["status"] == "Failure"
    assert refused.json()["details"]["errorCount"] > 0
    assert facts() == (version + 1, newest)


def _force(client: httpx.Client, store: SiteStore, number: int) -> None:
    """Commit in spite of errors, and look at what was taken in: as it was, rendered, and compared."""
    forced = commit(client, force="true")
    assert forced.status_code == 200, forced.text
    assert forced.json()["revision"] == number
    assert store.buffers.get("default").is_empty
    for path in ("configdocs/hostile?version=committed", f"diff/configdocs?from={max(1, number - 1)}&to={number}"):
        shown = client.get(f"{API}/{path}")
        assert shown.status_code == 200, shown.text
    rendered = client.get(f"{API}/renderedconfigdocs?version=committed")
    assert rendered.status_code == (400 if store.revisions.get("default").text is None else 200), rendered.text
