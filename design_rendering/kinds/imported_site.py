"""Documents of a site, written from machines that a provisioner has already: short, in order, ready to edit. Pure."""

from __future__ import annotations

import json
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
_OF_IMAGES: Final = ("checksum", "kernel", "ramdisk", "root_gb", "capabilities")
_NOT_OF_A_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+|^[._-]+")


@dataclass(frozen=True, slots=True)
class ImportedMachine:
    """A machine as documents can say it.

    Attributes
    ----------
    name : its name at the provisioner, which no other of them has.
    rack : "": not known.
    image : what is deployed on it, as the provisioner calls it; "": nothing.
    of_image : what goes with the image, as fields of a node, such as `checksum`.
    shared : other fields of a node that machines may have in common; `own` : those that each has for itself.
    note : a sentence for the person who edits; "": none.
    """

    name: str
    rack: str = ""
    tags: frozenset[str] = NO_TAGS
    labels: Mapping[str, str] = field(default_factory=lambda: NO_LABELS, hash=False)
    image: str = ""
    note: str = ""
    of_image: Mapping[str, Any] = field(default_factory=dict, hash=False)
    shared: Mapping[str, Any] = field(default_factory=dict, hash=False)
    own: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def deployed(self) -> dict[str, Any]:
        """The image and what goes with it, as fields of a node."""
        return {"image": self.image, **self.of_image} if self.image else {}


def imported_files(
    site: str, machines: Iterable[ImportedMachine], provisioner: str, notes: Sequence[str] = ()
) -> dict[str, str]:
    """Return the texts of the files of a site, by their names: the site with its sets, its nodes, and a strategy.

    The image that most machines have is the site's default, and so is what all of them share. Machines that share all
    but what is their own become a set. The strategy has a group for each rack, and no order: that is for a person to
    say. The same machines always give the same texts. Labels that look like secrets are left out, and named in a
    comment.

    Parameters
    ----------
    provisioner : its kind, as a site's document writes it.
    notes : sentences about the whole site for the person who edits.
    """
    listed = sorted(machines, key=lambda machine: machine.name)
    defaults = _defaults(listed)
    traits = {machine.name: _traits(machine, defaults) for machine in listed}
    counts = Counter(map(_text, traits.values()))
    sets = _named({_text(one): one for one in traits.values() if one and counts[_text(one)] > 1})
    hidden = sorted({key for machine in listed for key, value in machine.labels.items() if _is_secret(key, value)})
    if hidden:
        notes = [f"Labels that look like secrets were left out: {', '.join(hidden)}.", *notes]
    made = f"# Made by `slipway import {provisioner}`"
    return {
        SITE_FILE: "".join(_site(made, site, {"provisioner": provisioner}, defaults, sets, notes)),
        NODES_FILE: "".join(_nodes(made, listed, traits, sets)),
        STRATEGY_FILE: "".join(_strategy(made, listed)),
    }


_Traits = Mapping[str, Any]
"""What a machine may share with others, as fields of a node."""


def _site(
    made: str,
    site: str,
    data: _Traits,
    defaults: _Traits,
    sets: Mapping[str, tuple[str, _Traits]],
    notes: Sequence[str],
) -> Iterator[str]:
    yield f"{made}, and yours to edit: docs/machines.md says what may stand here.\n"
    yield from (f"# {_printable(note)}\n" for note in notes)
    yield _document(SITE_SCHEMA, site, {**data, **({"defaults": defaults} if defaults else {})})
    for name, traits in sets.values():
        yield _document(NODE_SET_SCHEMA, name, traits)


def _nodes(
    made: str,
    machines: Sequence[ImportedMachine],
    traits: Mapping[str, _Traits],
    sets: Mapping[str, tuple[str, _Traits]],
) -> Iterator[str]:
    yield f"{made}: a node for each machine, by its name.\n"
    for machine in machines:
        its = traits[machine.name]
        data = {"sets": [sets[_text(its)][0]]} if _text(its) in sets else its
        note = f"# {_printable(machine.note)}\n" if machine.note else ""
        own = {**({"rack": machine.rack} if machine.rack else {}), **machine.own}
        yield _document(NODE_SCHEMA, machine.name, {**data, **own}, note)


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in " ".join(text.split()))


def _strategy(made: str, machines: Sequence[ImportedMachine]) -> Iterator[str]:
    yield f"{made}: a group for each rack. What has to come first is for you to say:\n"
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


def _defaults(machines: Sequence[ImportedMachine]) -> dict[str, Any]:
    """Return the image that most machines have, with what goes with it, and what all of them share."""
    images = {_text(one.deployed): one.deployed for one in machines if one.image}
    counts = Counter(_text(one.deployed) for one in machines if one.image)
    found = dict(images[min(counts, key=lambda text: (-counts[text], text))]) if counts else {}
    first = machines[0].shared if machines else {}
    return found | {key: value for key, value in first.items() if all(one.shared.get(key) == value for one in machines)}


def _traits(machine: ImportedMachine, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a machine may share with others, without what is the site's default."""
    labels = {key: value for key, value in sorted(machine.labels.items()) if not _is_secret(key, value)}
    said: dict[str, Any] = {"tags": sorted(machine.tags), "labels": labels}
    deployed = machine.deployed
    if deployed:
        # What goes with the default image goes with no other.
        said |= {key: deployed.get(key) for key in (*deployed, *_OF_IMAGES) if deployed.get(key) != defaults.get(key)}
    said |= {key: value for key, value in machine.shared.items() if defaults.get(key) != value}
    return {key: value for key, value in said.items() if value or key in _OF_IMAGES}


def _named(sets: Mapping[str, _Traits]) -> dict[str, tuple[str, _Traits]]:
    """Give each set a name of its own, by its tags, else by its labels, else by the rest."""
    names: dict[str, tuple[str, _Traits]] = {}
    taken: set[str] = set()
    for text, traits in sets.items():
        labels: Mapping[str, str] = traits.get("labels", {})
        words = "-".join(traits.get("tags") or labels.values() or map(str, traits.values()))
        wanted = _NOT_OF_A_NAME.sub("-", words).strip("-._")[:_LONGEST_NAME].rstrip("-._") or "machines"
        name = next(one for one in _names(wanted) if one not in taken)
        taken.add(name)
        names[text] = (name, traits)
    return names


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True)


def _names(wanted: str) -> Iterator[str]:
    """Yield a name, and others like it in case it is taken."""
    yield wanted
    yield from (f"{wanted}-{number}" for number in count(2))


def _is_secret(key: str, value: str) -> bool:
    return is_secret_at((key,), value)


def _document(schema: str, name: str, data: Mapping[str, Any], note: str = "") -> str:
    return f"---\n{note}schema: {schema}\nmetadata: {_flow({'name': name})}\ndata: {_flow(data)}\n"


def _flow(value: Mapping[str, Any]) -> str:
    text = yaml.safe_dump(dict(value), sort_keys=False, allow_unicode=True, default_flow_style=True, width=10_000)
    return text.rstrip("\n")
