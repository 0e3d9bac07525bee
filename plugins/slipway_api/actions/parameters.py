"""The parameters of an action as clients write them (Shipyard's send text only), read into one value. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from site_engine.errors import SlipwayAirflowError

CONTINUE_ON_FAIL = "continue-on-fail"
KNOWN = ("target_nodes", "force", "dry_run", "revision", CONTINUE_ON_FAIL)

_LARGEST_REVISION = 2**31 - 1
_MOST_UNKNOWN = 100


class ParameterError(SlipwayAirflowError):
    """Parameters of an action cannot be used: correct what ``problems`` names. Nothing was started."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems: tuple[str, ...] = tuple(problems)
        super().__init__("; ".join(self.problems))


@dataclass(frozen=True, slots=True)
class ActionParameters:
    """What was asked for. ``target_nodes`` and ``revision`` are None where they were not given."""

    target_nodes: tuple[str, ...] | None = None
    force: bool = False
    dry_run: bool = False
    revision: int | None = None
    continue_on_fail: bool = False

    def recorded(self) -> dict[str, Any]:
        """Return what is kept with the action: what was asked for, without what was not."""
        given: dict[str, Any] = {
            "target_nodes": None if self.target_nodes is None else list(self.target_nodes),
            "force": self.force,
            "dry_run": self.dry_run,
            "revision": self.revision,
            CONTINUE_ON_FAIL: self.continue_on_fail,
        }
        return {name: value for name, value in given.items() if value is not None and value is not False}

    def run_conf(self, site: str, revision: int) -> dict[str, Any]:
        """Return the configuration of the DAG run; its keys are the DAG's parameters."""
        return {
            "site": site,
            "revision": revision,
            "target_nodes": None if self.target_nodes is None else list(self.target_nodes),
            "force": self.force,
            "dry_run": self.dry_run,
        }


def parse_parameters(given: object) -> ActionParameters:
    """Read the parameters of an action.

    Parameters
    ----------
    given
        The ``parameters`` of the request: None, or names to values. ``target_nodes`` is a list or text with commas,
        truth values are JSON's or text in any case, ``revision`` is a number or its digits.

    Raises
    ------
    ParameterError
        With everything that is wrong at once. An unknown name is wrong: a misspelt ``target_nodes`` would deploy the
        whole site.
    """
    if given is None:
        return ActionParameters()
    if not isinstance(given, Mapping):
        raise ParameterError([f"parameters must be an object of names and values, not {_kind_of(given)}"])
    problems = list(_unknown(str(name) for name in given if name not in KNOWN))
    read: dict[str, Any] = {}
    for name, parse in (
        ("target_nodes", _names),
        ("force", _truth),
        ("dry_run", _truth),
        ("revision", _number),
        (CONTINUE_ON_FAIL, _truth),
    ):
        if given.get(name) is None:
            continue
        try:
            read[name.replace("-", "_")] = parse(given[name])
        except ValueError as error:
            problems.append(f"{name} {error}")
    if problems:
        raise ParameterError(problems)
    return ActionParameters(**read)


def _unknown(names: Iterable[str]) -> Iterable[str]:
    for name in sorted(names)[:_MOST_UNKNOWN]:
        near = difflib.get_close_matches(name[:64], KNOWN, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(KNOWN)}"
        if name == "site":
            hint = "give the site in the query: ?site=NAME"
        yield f"there is no parameter {name[:64]!r}; {hint}"


def _names(value: object) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"must be a list of node names, or text with commas, not {_kind_of(value)}")
    names = tuple(dict.fromkeys(stripped for part in parts if (stripped := part.strip())))
    if not names:
        # Empty would mean the whole site to whoever reads it, and is nobody's intention.
        raise ValueError("names no node: name at least one, or leave it out")
    return names


def _truth(value: object) -> bool:
    if isinstance(value, bool):
        return value
    known = {"true": True, "false": False}
    if isinstance(value, str) and value.strip().lower() in known:
        return known[value.strip().lower()]
    raise ValueError(f"must be true or false, not {str(value)[:40]!r}")


def _number(value: object) -> int:
    number = 0
    if isinstance(value, str) and value.strip().isdecimal() and len(value) <= 12:
        number = int(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    if not 1 <= number <= _LARGEST_REVISION:
        raise ValueError(f"must be the number of a revision, from 1, not {str(value)[:40]!r}")
    return number


def _kind_of(value: object) -> str:
    return "null" if value is None else type(value).__name__
