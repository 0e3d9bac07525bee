"""The nodes that Slipway's own documents describe: what the site, their sets and they themselves say, put together."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from design_rendering import slipway_kinds as own
from design_rendering.reading.documents import Document, DocumentError, find_document, find_documents
from design_rendering.redaction import is_secret_key
from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.errors import InventoryError, Problem, extend
from strategy_lib.node import NO_LABELS, NO_TAGS
from strategy_lib.parsing.schema_check import check_data
from strategy_lib.parsing.strategy_parser import label_texts

HOST_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
# What the nearest of node, sets and site says; the names that documents and `SlipwayNode` have for it.
_VALUES: Final = {
    "rack": "rack",
    "image": "image",
    "kernel": "kernel",
    "ephemeral": "ephemeral",
    "network": "network_layout",
    "storage": "storage_layout",
    "erase": "erase",
    **{name: name for name in ("checksum", "ramdisk", "root_gb", "root_device", "capabilities", "network_data")},
}
_OF_BMC: Final = ("bmc_driver", "bmc_account", "bmc_options")
_DRIVER: Final = "redfish"
_LAYERED: Final = (*_VALUES, "user_data", "traits", *_OF_BMC)
_OF_SECRETS: Final = {
    own.USER_DATA_SCHEMA: {
        "$.data": "must be a mapping with the user data as a text under content",
        "$.data.content": "must be a text of 1 to 1048576 characters",
    },
    own.BMC_ACCOUNT_SCHEMA: {
        "$.data": "must be a mapping with user and password",
        "$.data.password": "must be a text of 1 to 256 characters",
    },
}


@dataclass(frozen=True, slots=True)
class Bmc:
    """How the machine's power is switched, for who enrols it: its driver's name, and what that needs.

    `options` are what else the driver needs, by the driver's own names; no secret is among them.
    """

    driver: str
    address: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class SlipwayNode:
    """A machine as its site, its sets and its own document describe it.

    Attributes
    ----------
    name : its name at the provisioner: in MAAS its host name without the domain.
    tags, labels, rack : by these groups select it.
    image, kernel : what is deployed, as the provisioner calls it; None: what the connection, or it, takes by itself.
    ephemeral : the image runs from memory.
    checksum : of the image, as `sha256:` or `sha512:` with its digits, or the address of a file of them.
    ramdisk, root_gb : of an image of one partition; the latter is that partition's size in GiB.
    root_device : by which hints the disk is chosen that gets the image.
    capabilities, traits : what a deployment asks of the machine, in the provisioner's own words.
    network_data : the network's set-up for the first boot, in OpenStack's form (`network_data.json`).
    user_data : the text that it gets at its first boot, a secret; None: it gets none.
    network_layout, storage_layout : names of layouts that MAAS knows; None: as the machine is set up there.
    erase : what a release does to its disks: `none`, `quick`, `secure` or `full`; None: what the connection says.
    address : its IP address, with or without the length of the prefix, None where the design does not state it.
    enroll : the site says that the provisioner gets to know machines by the design.
    bmc : how its power is switched, for that; None: the design says nothing of it.
    mac_addresses : of the interfaces by which it may boot, for that.
    """

    name: str
    tags: frozenset[str] = NO_TAGS
    labels: Mapping[str, str] = field(default_factory=lambda: NO_LABELS, hash=False)
    rack: str | None = None
    image: str | None = None
    kernel: str | None = None
    ephemeral: bool = False
    user_data: str | None = field(default=None, repr=False)
    network_layout: str | None = None
    storage_layout: str | None = None
    erase: str | None = None
    address: str | None = None
    checksum: str | None = None
    ramdisk: str | None = None
    root_gb: int | None = None
    root_device: Mapping[str, Any] | None = field(default=None, hash=False)
    capabilities: Mapping[str, Any] | None = field(default=None, hash=False)
    traits: frozenset[str] = NO_TAGS
    network_data: Mapping[str, Any] | None = field(default=None, hash=False, repr=False)
    enroll: bool = False
    bmc: Bmc | None = None
    mac_addresses: tuple[str, ...] = ()


def read_slipway_nodes(documents: Sequence[Document]) -> dict[str, SlipwayNode]:
    """Return the nodes of a rendered design by name, in document order.

    A value is the node's own; else that of the last of its sets that has one; else the site's default. Tags are joined,
    labels are merged one by one. An empty value (`null`) counts: the node has none then.

    Raises `StrategyLibError` with everything that is wrong, also with what a node names and the design does not have:
    nothing may be deployed by half.
    """
    nodes, missing = slipway_nodes(documents)
    if missing:
        raise DocumentError(missing)
    return nodes


def slipway_nodes(documents: Sequence[Document]) -> tuple[dict[str, SlipwayNode], list[Problem]]:
    """Return the nodes of a rendered design, or of a part of one, and an error for each thing that is not there.

    What a missing set or missing user data would have given is left out.

    Raises `StrategyLibError` with everything that is wrong in the documents themselves.
    """
    layers = _Layers(documents)
    return {name: layers.node(document) for name, document in layers.nodes.items()}, layers.missing


def site_provisioner(documents: Sequence[Document]) -> str | None:
    """Return the kind of provisioner that the site's document names; None without one, or where it names none.

    Raises `DocumentError`: there are two such documents.
    """
    document = find_document(documents, own.SITE_SCHEMA)
    said = document.data.get("provisioner") if document is not None and isinstance(document.data, Mapping) else None
    return said if isinstance(said, str) else None


def shape_problems(document: Document) -> list[Problem]:
    """Return what is wrong with a document of these kinds by itself; nothing for documents of other kinds."""
    shape = own.SHAPES.get(document.schema)
    if shape is None or document.abstract:
        return []
    problems = check_data(shape, document.data, document)
    if document.schema in _OF_SECRETS:
        # A sentence about a value may repeat it, and this is a secret.
        said, key = _OF_SECRETS[document.schema], "content" if document.schema == own.USER_DATA_SCHEMA else "password"
        said = {} if isinstance(document.data, Mapping) and key not in document.data else said
        problems = [replace(one, message=said.get(one.path, one.message)) for one in problems]
    if not problems:
        values = document.data.get("defaults", {}) if document.schema == own.SITE_SCHEMA else document.data
        place = "$.data.defaults" if document.schema == own.SITE_SCHEMA else "$.data"
        message = f"looks like a secret, and everybody may read it here: write it into a {own.BMC_ACCOUNT_SCHEMA}"
        problems += [
            document.problem(extend(f"{place}.bmc_options", key), message)
            for key in values.get("bmc_options") or ()
            if is_secret_key(key)
        ]
    if document.schema == own.NODE_SCHEMA:
        if HOST_NAME.fullmatch(document.name) is None:
            message = "must be a host name: letters, digits and -, at most 63 of them, without the domain"
            problems.append(document.problem("$.metadata.name", message))
        if not problems and "address" in document.data and _interface(document.data["address"]) is None:
            message = "must be an IP address, with or without the length of its prefix, such as 10.0.3.7/24"
            problems.append(document.problem("$.data.address", message))
        if not problems:
            sets: list[str] = document.data.get("sets", [])
            problems += [
                document.problem(extend("$.data.sets", place), f"{name!r} is named twice; keep one of them")
                for place, name in enumerate(sets)
                if name in sets[:place]
            ]
    return problems


def stated_address(data: Any) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface | None:
    """Return the address in the data of a node, None where there is none, or what is no address."""
    return _interface(data.get("address")) if isinstance(data, Mapping) else None


def _interface(text: object) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface | None:
    try:
        return ipaddress.ip_interface(text) if isinstance(text, str) else None
    except ValueError:
        return None


class _Layers:
    """Lays what site, sets and node say over each other, and notes what they name and is not there."""

    def __init__(self, documents: Sequence[Document]) -> None:
        """Raises `InventoryError` with what is wrong, `DocumentError` with names that are twice."""
        self.missing: list[Problem] = []
        its = [document for document in documents if document.schema in own.NODE_MAKERS]
        problems = [problem for document in its for problem in shape_problems(document)]
        if problems:
            raise InventoryError(problems)
        self.nodes = find_documents(its, own.NODE_SCHEMA)
        self._site = find_document(its, own.SITE_SCHEMA)
        self._sets = find_documents(its, own.NODE_SET_SCHEMA)
        self._named = {schema: find_documents(its, schema) for schema in own.NAMED_BY_VALUES.values()}
        # Thousands of nodes have the same sets: what these give together is put together once.
        self._inherited: dict[tuple[str, ...], tuple[Mapping[str, Any], frozenset[str], Mapping[str, str]]] = {}
        self._read: dict[tuple[str, str], Mapping[str, Any] | None] = {}

    def node(self, document: Document) -> SlipwayNode:
        data: Mapping[str, Any] = document.data
        names = tuple(data.get("sets", ()))
        if names not in self._inherited:
            self._inherited[names] = self._of_sets(names)
        for name in names:
            if name not in self._sets:
                self._miss(document, extend("$.data.sets", names.index(name)), own.NODE_SET_SCHEMA, name, self._sets)
        values, tags, labels = self._inherited[names]
        values = {**values, **_own(data)}
        tags = tags.union(data["tags"]) if data.get("tags") else tags
        labels = {**labels, **label_texts(data["labels"])} if data.get("labels") else labels
        said = {name: values[key] for key, name in _VALUES.items() if values.get(key) is not None}
        user_data = self._part(document, "user_data", values)
        return SlipwayNode(
            document.name,
            tags,
            labels,
            user_data=None if user_data is None else user_data["content"],
            address=data.get("address"),
            traits=frozenset(values.get("traits") or ()),
            enroll=self._site is not None and self._site.data.get("enroll", False),
            bmc=self._bmc(document, values),
            mac_addresses=tuple(data.get("mac_addresses", ())),
            **said,
        )

    def _bmc(self, document: Document, values: Mapping[str, Any]) -> Bmc | None:
        account = self._part(document, "bmc_account", values) or {}
        address = document.data.get("bmc_address", "")
        if not address and values.get("bmc_driver") is None:
            return None
        options = values.get("bmc_options") or {}
        driver = values.get("bmc_driver") or _DRIVER
        return Bmc(driver, address, account.get("user", ""), account.get("password", ""), options)

    def _of_sets(self, names: Iterable[str]) -> tuple[Mapping[str, Any], frozenset[str], Mapping[str, str]]:
        site: Mapping[str, Any] = {} if self._site is None else self._site.data
        values = dict(site.get("defaults", {}))
        labels = label_texts(site.get("labels"))
        tags = NO_TAGS
        for name in names:
            if name in self._sets:
                data = self._sets[name].data
                values |= _own(data)
                tags = tags.union(data.get("tags", ()))
                labels = {**labels, **label_texts(data.get("labels"))}
        return values, tags, labels

    def _part(self, document: Document, key: str, values: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the data of the document that a field names; where it is missing, it is so once for all nodes."""
        name = values.get(key)
        if name is None:
            return None
        schema = own.NAMED_BY_VALUES[key]
        if (schema, name) not in self._read:
            there = self._named[schema].get(name)
            self._read[schema, name] = None if there is None else there.data
            if there is None:
                self._miss(self._namer(document, key, name), f"$.data.{key}", schema, name, self._named[schema])
        return self._read[schema, name]

    def _namer(self, node: Document, key: str, name: str) -> Document:
        """Return the document that names this part for a node."""
        named = [self._sets[each] for each in node.data.get("sets", ()) if each in self._sets]
        makers = [node, *reversed(named)]
        return next((one for one in makers if one.data.get(key) == name), self._site or node)

    def _miss(self, document: Document, path: str, schema: str, name: str, there: Mapping[str, Document]) -> None:
        path = path if document.schema != own.SITE_SCHEMA else path.replace("$.data.", "$.data.defaults.")
        hint = did_you_mean(name, list(there)) if there else "there is none at all"
        self.missing.append(document.problem(path, f"there is no {schema} named {name!r}; {hint}"))


def _own(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: data[key] for key in _LAYERED if key in data}
