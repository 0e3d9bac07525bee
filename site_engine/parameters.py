"""The parameters of an action, typed: from the request, or a DAG run's configuration, to the store and back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from site_engine.errors import EngineError
from site_engine.kinds import BY_NAME_ALONE, DEPLOY_GROUP, DEPLOY_GROUP_BESIDE, ActionKind, Override
from site_store import ActionRecord
from strategy_lib.did_you_mean import did_you_mean

TARGET_NODES = "target_nodes"
REVISION = "revision"
FORCE = "force"
DRY_RUN = "dry_run"
CONTINUE_ON_FAIL = "continue-on-fail"
ALLOW_INTERMEDIATE = "allow-intermediate-commits"
PARALLEL_GROUPS = "max_parallel_groups"
MOST_PARALLEL_GROUPS = 16
"""At most this many groups of one action run at once: the limit of its DAG."""

_LARGEST_REVISION = 2**31 - 1
_MOST_UNKNOWN = 100


class ParameterError(EngineError):
    """Parameters of an action cannot be used: correct what ``problems`` names. Nothing was started."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems: tuple[str, ...] = tuple(problems)
        super().__init__("; ".join(self.problems))


@dataclass(frozen=True, slots=True)
class ActionParameters:
    """What was asked for.

    Attributes
    ----------
    target_nodes, revision : None where they were not given.
    dry_run : nothing is to be submitted, and the site is not locked.
    force : every override of the action's kind is meant.
    overrides : those that were given by name.
    continue_on_fail : the action is to start although the revision is not valid.
    allow_intermediate : it may pass over revisions that were never deployed.
    max_parallel_groups : how many of its groups run side by side; None where nobody said so: one (rule 8).
    """

    target_nodes: tuple[str, ...] | None = None
    revision: int | None = None
    dry_run: bool = False
    force: bool = False
    overrides: frozenset[Override] = frozenset()
    continue_on_fail: bool = False
    allow_intermediate: bool = False
    max_parallel_groups: int | None = None

    @property
    def places(self) -> int:
        """How many groups may be at work at once (rule 8)."""
        return self.max_parallel_groups or 1

    @property
    def group_task(self) -> str:
        """Airflow's task that is mapped over the groups."""
        return DEPLOY_GROUP if self.places == 1 else DEPLOY_GROUP_BESIDE

    def with_default(self, kind: ActionKind, max_parallel_groups: int) -> ActionParameters:
        """Return them with what the settings of the site say, for an action of this kind that does not say so itself.

        One on named nodes has one group, unless they stay in their groups.
        """
        one_group = not kind.has_parallel_groups or (self.target_nodes is not None and not kind.targeted)
        if one_group or self.max_parallel_groups is not None or max_parallel_groups == 1:
            return self
        return replace(self, max_parallel_groups=max_parallel_groups)

    def allows(self, override: Override) -> bool:
        """Whether an override was given, by its name, or by ``force`` where that stands for it."""
        return override in self.overrides or (self.force and override not in BY_NAME_ALONE)

    def is_whole_site(self, kind: ActionKind) -> bool:
        """Whether an action of this kind with these parameters brings its whole site to its revision."""
        return kind.whole_site and self.target_nodes is None

    def to_record(self) -> dict[str, Any]:
        """Return what is kept with the action: what was asked for, without what was not."""
        given: dict[str, Any] = {
            TARGET_NODES: None if self.target_nodes is None else list(self.target_nodes),
            FORCE: self.force,
            **{override.value: override in self.overrides for override in Override},
            DRY_RUN: self.dry_run,
            REVISION: self.revision,
            CONTINUE_ON_FAIL: self.continue_on_fail,
            ALLOW_INTERMEDIATE: self.allow_intermediate,
            PARALLEL_GROUPS: self.max_parallel_groups,
        }
        return {name: value for name, value in given.items() if value is not None and value is not False}

    def to_run_record(self) -> dict[str, Any]:
        """Return what is kept with the action of a run that was started in Airflow: these names, given or not.

        Its revision is the action's own.
        """
        kept: dict[str, Any] = {TARGET_NODES: None, FORCE: False, DRY_RUN: False} | self.to_record()
        kept.pop(REVISION, None)
        return kept

    def run_conf(self, site: str, revision: int) -> dict[str, Any]:
        """Return the configuration of the DAG run; its keys are the DAG's parameters."""
        asked = replace(self, continue_on_fail=False, allow_intermediate=False)
        return {"site": site, **asked.to_run_record(), REVISION: revision}


def parameters_of(action: ActionRecord) -> ActionParameters:
    """Return the parameters that an action was created with, by this version or an earlier one."""
    return read_checked(action.parameters)


def read_checked(values: Mapping[str, Any]) -> ActionParameters:
    """Read parameters that were checked before: those of an action's record, or of a DAG run, which Airflow checks."""
    targets = values.get(TARGET_NODES)
    return ActionParameters(
        target_nodes=None if targets is None else tuple(targets),
        revision=values.get(REVISION),
        dry_run=_is_true(values.get(DRY_RUN)),
        force=_is_true(values.get(FORCE)),
        overrides=frozenset(override for override in Override if _is_true(values.get(override.value))),
        continue_on_fail=_is_true(values.get(CONTINUE_ON_FAIL)),
        allow_intermediate=_is_true(values.get(ALLOW_INTERMEDIATE)),
        max_parallel_groups=values.get(PARALLEL_GROUPS),
    )


def parse_parameters(given: object, kind: ActionKind, *, allow_intermediate: bool = False) -> ActionParameters:
    """Read the parameters of a request, as clients write them; Shipyard's send text only.

    Parameters
    ----------
    given : the ``parameters`` of the request: None, or names to values. ``target_nodes`` is a list or text with commas,
        truth values are JSON's or text in any case, ``revision`` is a number or its digits.
    allow_intermediate : as it stands in the query.

    Raises
    ------
    ParameterError : with everything that is wrong at once. An unknown name is wrong: a misspelt ``target_nodes`` would
        deploy the whole site.
    """
    if given is None:
        return ActionParameters(allow_intermediate=allow_intermediate)
    if not isinstance(given, Mapping):
        raise ParameterError([f"parameters must be an object of names and values, not {_type_of(given)}"])
    flags = (FORCE, *kind.overrides, DRY_RUN, CONTINUE_ON_FAIL)
    groups: dict[str, Callable[[object], Any]] = {PARALLEL_GROUPS: _places} if kind.has_parallel_groups else {}
    readers = {TARGET_NODES: _names, **dict.fromkeys(flags, _truth), REVISION: _number, **groups}
    problems = unknown_parameters(map(str, given), (TARGET_NODES, REVISION, *flags, *groups))
    read: dict[str, Any] = {}
    for name, parse in readers.items():
        if given.get(name) is None:
            continue
        try:
            read[name] = parse(given[name])
        except ValueError as error:
            problems.append(f"{name} {error}")
    if problems:
        raise ParameterError(problems)
    return read_checked(read | {ALLOW_INTERMEDIATE: allow_intermediate})


def unknown_parameters(given: Iterable[str], known: Collection[str]) -> list[str]:
    """Return a sentence for each parameter that nobody reads: a misspelt ``target_nodes`` would deploy all."""
    problems = []
    for name in sorted(set(given).difference(known))[:_MOST_UNKNOWN]:
        hint = "give the site in the query: ?site=NAME" if name == "site" else did_you_mean(name, known)
        problems.append(f"there is no parameter {name[:64]!r}; {hint}")
    return problems


def known_in_run(kind: ActionKind) -> tuple[str, ...]:
    """Return the names of the parameters of a kind's DAG."""
    groups = (PARALLEL_GROUPS,) if kind.has_parallel_groups else ()
    return ("site", REVISION, TARGET_NODES, FORCE, *kind.overrides, DRY_RUN, *groups)


def _names(value: object) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"must be a list of node names, or text with commas, not {_type_of(value)}")
    names = tuple(dict.fromkeys(stripped for part in parts if (stripped := part.strip())))
    if not names:
        # Empty would mean the whole site to a reader, and nobody intends that.
        raise ValueError("names no node: name at least one, or leave it out")
    return names


def _truth(value: object) -> bool:
    if isinstance(value, bool):
        return value
    known = {"true": True, "false": False}
    if isinstance(value, str) and value.strip().lower() in known:
        return known[value.strip().lower()]
    raise ValueError(f"must be true or false, not {str(value)[:40]!r}")


def _is_true(value: object) -> bool:
    # The first version kept truth values as text, too.
    return value is True or str(value).lower() == "true"


def _places(value: object) -> int:
    number = _whole(value)
    if not 1 <= number <= MOST_PARALLEL_GROUPS:
        raise ValueError(f"must be a whole number from 1 to {MOST_PARALLEL_GROUPS}, not {str(value)[:40]!r}")
    return number


def _whole(value: object) -> int:
    """Return a whole number, or its digits, as a number; 0 for anything else."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) <= 12:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _number(value: object) -> int:
    number = _whole(value)
    if not 1 <= number <= _LARGEST_REVISION:
        raise ValueError(f"must be the number of a revision, from 1, not {str(value)[:40]!r}")
    return number


def _type_of(value: object) -> str:
    return "null" if value is None else type(value).__name__
