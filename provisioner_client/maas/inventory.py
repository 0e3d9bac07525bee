"""What MAAS's machines are to a design: which of its nodes selectors choose, and what of machines becomes a document.

Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from design_rendering.kinds.imported_site import ImportedMachine
from provisioner_client.maas.machine import Machine, Status
from provisioner_client.references import REFERENCE
from provisioner_client.site_documents import LONGEST_NAME, Inventory, KnownMachine, unfit_name
from strategy_lib.strategy import Label

SOURCES: Final = ("zone", "pool", "architecture")
RACK_SOURCES: Final = ("zone", "pool", "tag")
_TEMPLATE: Final = re.compile(r"[\w-]*(?:\{key\}[\w-]+\{value\}|\{value\}[\w-]+\{key\})[\w-]*", re.ASCII)
_NO_OVERRIDES: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class LabelWords:
    """How labels and racks are found in MAAS.

    Parameters
    ----------
    template : a label's tag, with ``{key}`` and ``{value}``.
    overrides : labels that are something else than a tag: one of `SOURCES`, by their keys.
    rack : one of `RACK_SOURCES`.
    """

    template: str = "{key}__{value}"
    overrides: Mapping[str, str] = field(default_factory=lambda: _NO_OVERRIDES)
    rack: str = "zone"

    def tag(self, key: str, value: str) -> str:
        """Return the tag of a label."""
        return self.template.replace("{key}", key).replace("{value}", value)

    def is_other_value(self, tag: str, key: str, value: str) -> bool:
        """Whether a tag gives this label another value."""
        before, _, after = self.tag(key, "\0").partition("\0")
        return (
            tag != self.tag(key, value)
            and len(tag) > len(before) + len(after)
            and tag.startswith(before)
            and tag.endswith(after)
        )

    @classmethod
    def parse(cls, template: str, overrides: str, rack: str) -> LabelWords:
        """Read the fields of a connection. Raises `ValueError`: one of them cannot be used."""
        template, rack = template or "{key}__{value}", rack or "zone"
        if "{key}" not in template or "{value}" not in template:
            raise ValueError("the label template must have {key} and {value}, as in {key}__{value}")
        if _TEMPLATE.fullmatch(template) is None:
            raise ValueError(
                "the label template must have {key} and {value} once each, with something between them, and else only "
                "what tags of MAAS have: letters, digits, - and _"
            )
        if rack not in RACK_SOURCES:
            raise ValueError(f"racks are found by {', '.join(RACK_SOURCES[:-1])} or {RACK_SOURCES[-1]}")
        found = {}
        for part in filter(None, (one.strip() for one in overrides.split(","))):
            key, _, source = (word.strip() for word in part.partition("="))
            if not key or source not in SOURCES:
                raise ValueError(f"a label that is no tag is written label=source, with one of {', '.join(SOURCES)}")
            found[key] = source
        return cls(template, found, rack)


def known_machine(machine: Machine, words: LabelWords) -> KnownMachine:
    """Return what selectors choose a machine by."""
    racks = machine.tags if words.rack == "tag" else {machine.zone if words.rack == "zone" else machine.pool}
    return KnownMachine(machine.tags, frozenset(racks), lambda label: _has(label, machine, words))


def _has(label: Label, machine: Machine, words: LabelWords) -> bool:
    source = words.overrides.get(label.key)
    if source == "zone":
        return machine.zone == label.value
    if source == "pool":
        return machine.pool == label.value
    if source == "architecture":
        return label.value in (machine.architecture, machine.architecture.partition("/")[0])
    return words.tag(label.key, label.value) in machine.tags


_PLAIN: Final = frozenset({Status.NEW, Status.READY, Status.DEPLOYED})


def inventory(machines: Collection[Machine], words: LabelWords, account: str, limiting_tag: str = "") -> Inventory:
    """Return machines as documents can say them.

    A tag that is written as a label is one; of several values of a label the first is, and the others stay tags. Where
    the machines are in several pools, their pool is a label. Left out are machines without a host name or with that of
    another, those that somebody else owns, and retired ones. A tag or rack whose name is too long for a document is
    left out, too, and noted.

    Parameters
    ----------
    words : how labels and racks are found in MAAS.
    account : under which Slipway deploys.
    limiting_tag : the tag that limits the site's part of MAAS, which all have; "": none.
    """
    names = Counter(machine.name for machine in machines)
    pools = {machine.pool for machine in machines if machine.pool}
    found: list[ImportedMachine] = []
    left_out: dict[str, str] = {}
    for machine in sorted(machines, key=lambda one: (one.name, one.system_id)):
        why = _why_left_out(machine, names[machine.name], account)
        if why:
            left_out.setdefault(machine.name or machine.system_id, why)
            continue
        # Those under which our tasks are found again are no property of a machine.
        its = [tag for tag in sorted(machine.tags) if tag != limiting_tag and not REFERENCE.fullmatch(tag)]
        rack = {"zone": machine.zone, "pool": machine.pool}.get(words.rack, "")
        too_long = [name for name in (*its, rack) if len(name) > LONGEST_NAME]
        tags = [tag for tag in its if tag not in too_long]
        labels, plain, twice = _labels(tags, words)
        sources = {"zone": machine.zone, "pool": machine.pool, "architecture": machine.architecture}
        labels |= {key: sources[source] for key, source in words.overrides.items() if sources.get(source)}
        if len(pools) > 1 and machine.pool and words.rack != "pool" and "pool" not in words.overrides.values():
            labels.setdefault("pool", machine.pool)
        image = f"{machine.osystem}/{machine.series}" if machine.osystem and machine.series else ""
        found.append(
            ImportedMachine(
                machine.name,
                "" if rack in too_long else rack,
                frozenset(plain),
                labels,
                image if machine.status is Status.DEPLOYED else "",
                _note(machine, too_long, twice),
            )
        )
    return Inventory(tuple(found), left_out)


def _note(machine: Machine, too_long: Sequence[str], twice: Sequence[str]) -> str:
    """Return what the person who edits has to know of a machine."""
    notes = [] if machine.status in _PLAIN and not machine.is_half_released else [f"MAAS says: {machine.shown}"]
    notes += [f"left out, as longer than {LONGEST_NAME} characters: {name}" for name in too_long]
    notes += [f"a label has one value, so this stays a tag: {tag}" for tag in twice]
    return "; ".join(notes)


def _why_left_out(machine: Machine, of_its_name: int, account: str) -> str:
    unfit = unfit_name(machine.name, of_its_name)
    if unfit:
        return unfit
    if machine.is_owned_by_other(account):
        return f"{machine.owner} owns it"
    return "it is retired" if machine.status is Status.RETIRED else ""


def _labels(tags: Sequence[str], words: LabelWords) -> tuple[dict[str, str], list[str], list[str]]:
    """Return the labels that tags are, the tags that are none, and those of these that are a second value of a label.

    As a tag it is kept: relabelling would take it from the machine.
    """
    labels: dict[str, str] = {}
    plain, twice = [], []
    for tag in tags:
        label = _label(tag, words)
        if label is None:
            plain.append(tag)
        elif label[0] in labels:
            plain.append(tag)
            twice.append(tag)
        else:
            labels[label[0]] = label[1]
    return dict(sorted(labels.items())), plain, twice


def _label(tag: str, words: LabelWords) -> tuple[str, str] | None:
    """Return key and value of a tag that is written as a label; None for any other."""
    pattern = re.escape(words.template)
    for name in ("key", "value"):
        # Of a word that stands there twice, the first counts.
        pattern = pattern.replace(re.escape(f"{{{name}}}"), f"(?P<{name}>.+{'?' if name == 'key' else ''})", 1)
    found = re.fullmatch(pattern, tag)
    return None if found is None else (found["key"], found["value"])
