"""Documents of a site on MAAS, written from machines that are there already: short, in order, ready to edit. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import yaml

from design_rendering.redaction import is_secret_at
from design_rendering.slipway_kinds import NODE_SCHEMA, NODE_SET_SCHEMA, SITE_SCHEMA
from strategy_lib.node import NO_LABELS, NO_TAGS
from strategy_lib.parsing.configuration import DEFAULT_STRATEGY_NAME
from strategy_lib.strategy import STRATEGY_SCHEMA

SITE_FILE, NODES_FILE, STRATEGY_FILE = "site.yaml", "nodes.yaml", "strategy.yaml"
_LONGEST_NAME: Final = 60
_NOT_OF_A_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+|^[._-]+")


@dataclass(frozen=True, slots=True)
class ImportedMachine:
    """A machine as documents can say it.

    Attributes
    ----------
    name : its host name, which no other of them has.
    rack : "": not known.
    image : what is deployed on it, as `osystem/series`; "": nothing.
    note : a sentence for the person who edits; "": none.
    """

    name: str
    rack: str = ""
    tags: frozenset[str] = NO_TAGS
    labels: Mapping[str, str] = field(default_factory=lambda: NO_LABELS, hash=False)
    image: str = ""
    note: str = ""


_Traits = tuple[tuple[str, ...], tuple[tuple[str, str], ...], str]


def imported_files(site: str, machines: Iterable[ImportedMachine]) -> dict[str, str]:
    """Return the texts of the files of a site, by their names: the site with its sets, its nodes, and a strategy.

    The image that most machines have is the site's default. Machines that share all but their racks become a set. The
    strategy has a group for each rack, and no order: that is for a person to say. The same machines always give the
    same texts. Labels that look like secrets are left out, and named in a comment.
    """
    listed = sorted(machines, key=lambda machine: machine.name)
    image = _most_common(machine.image for machine in listed)
    traits = {machine.name: _traits(machine, image) for machine in listed}
    counts = Counter(traits.values())
    sets = _named(one for one in dict.fromkeys(traits.values()) if counts[one] > 1 and any(one))
    hidden = sorted({key for machine in listed for key, value in machine.labels.items() if _is_secret(key, value)})
    return {
        SITE_FILE: "".join(_site(site, image, sets, hidden)),
        NODES_FILE: "".join(_nodes(listed, traits, sets)),
        STRATEGY_FILE: "".join(_strategy(listed)),
    }


def _site(site: str, image: str, sets: Mapping[_Traits, str], hidden: Sequence[str]) -> Iterator[str]:
    yield "# Made by `slipway import maas`, and yours to edit: docs/maas.md says what may stand here.\n"
    if hidden:
        yield f"# Labels that look like secrets were left out: {', '.join(hidden)}.\n"
    yield _document(SITE_SCHEMA, site, {"provisioner": "maas", **({"defaults": {"image": image}} if image else {})})
    for traits, name in sets.items():
        yield _document(NODE_SET_SCHEMA, name, _data(traits))


def _nodes(
    machines: Sequence[ImportedMachine], traits: Mapping[str, _Traits], sets: Mapping[_Traits, str]
) -> Iterator[str]:
    yield "# Made by `slipway import maas`: a node for each machine, by its host name.\n"
    for machine in machines:
        its = traits[machine.name]
        data = {"sets": [sets[its]]} if its in sets else _data(its)
        note = "".join(one if one.isprintable() else "?" for one in " ".join(machine.note.split()))
        note = f"# {note}\n" if note else ""
        yield _document(NODE_SCHEMA, machine.name, {**data, **({"rack": machine.rack} if machine.rack else {})}, note)


def _strategy(machines: Sequence[ImportedMachine]) -> Iterator[str]:
    yield "# Made by `slipway import maas`: a group for each rack. What has to come first is for you to say:\n"
    yield "# put the names of groups into depends_on, and see docs/strategy.md for all else.\n"
    racks = sorted({machine.rack for machine in machines if machine.rack})
    groups = [_group(rack, [{"rack_names": [rack]}]) for rack in racks]
    bare = [machine.name for machine in machines if not machine.rack]
    if bare:
        name = next(one for one in _names("others") if one not in racks)
        groups.append(_group(name, [{"node_names": bare}] if racks else []))
    yield f"---\nschema: {STRATEGY_SCHEMA}\nmetadata: {{name: {DEFAULT_STRATEGY_NAME}}}\n"
    yield yaml.safe_dump({"data": {"groups": groups}}, sort_keys=False, allow_unicode=True, width=120)


def _group(name: str, selectors: list[dict[str, Any]]) -> dict[str, Any]:
    criteria = {"percent_successful_nodes": 100}
    return {"name": name, "critical": False, "depends_on": [], "selectors": selectors, "success_criteria": criteria}


def _traits(machine: ImportedMachine, default_image: str) -> _Traits:
    """Return what a machine may share with others; its image only where it is not the site's default."""
    labels = tuple(sorted((key, value) for key, value in machine.labels.items() if not _is_secret(key, value)))
    return tuple(sorted(machine.tags)), labels, "" if machine.image == default_image else machine.image


def _data(traits: _Traits) -> dict[str, Any]:
    tags, labels, image = traits
    found = {"tags": list(tags), "labels": dict(labels), "image": image}
    return {key: value for key, value in found.items() if value}


def _named(sets: Iterable[_Traits]) -> dict[_Traits, str]:
    """Give each set a name of its own, by its tags, else by its labels."""
    names: dict[_Traits, str] = {}
    for traits in sets:
        tags, labels, image = traits
        words = "-".join(tags or tuple(value for _, value in labels) or (image,))
        wanted = _NOT_OF_A_NAME.sub("-", words).strip("-._")[:_LONGEST_NAME].rstrip("-._") or "machines"
        names[traits] = next(one for one in _names(wanted) if one not in names.values())
    return names


def _names(wanted: str) -> Iterator[str]:
    """Yield a name, and others like it in case it is taken."""
    yield wanted
    yield from (f"{wanted}-{number}" for number in count(2))


def _most_common(images: Iterable[str]) -> str:
    counts = Counter(filter(None, images))
    return min(counts, key=lambda image: (-counts[image], image), default="")


def _is_secret(key: str, value: str) -> bool:
    return is_secret_at((key,), value)


def _document(schema: str, name: str, data: Mapping[str, Any], note: str = "") -> str:
    return f"---\n{note}schema: {schema}\nmetadata: {_flow({'name': name})}\ndata: {_flow(data)}\n"


def _flow(value: Mapping[str, Any]) -> str:
    text = yaml.safe_dump(dict(value), sort_keys=False, allow_unicode=True, default_flow_style=True, width=10_000)
    return text.rstrip("\n")
