"""A site that uses everything, and what can be done to it that nobody should do."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import yaml

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
