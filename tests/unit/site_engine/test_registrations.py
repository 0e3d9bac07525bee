"""Everything that is registered under a name: two of one name are refused, and the error names both (rule 42).

The table of operators needs Airflow, and is tried beside a new step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import cast

import pytest

from site_engine.controller.controller import Controller, Job
from site_engine.errors import EngineError
from site_engine.extensions import CHECKS, POLICIES, WATCHERS, check_set, policy_set, watcher_set
from site_engine.kinds import KINDS, STEPS, ActionKind, Step, table
from site_engine.node_states.checks import AS_LEFT
from site_store import SiteStore
from strategy_lib.actors import WEBHOOK
from strategy_lib.errors import StrategyError

Found = list[EntryPoint]


def work(_controller: Controller) -> None:
    """Do a job of the controller."""


def work_too(_controller: Controller) -> None:
    """Do another job of the controller."""


def start_controller(*jobs: Job) -> Controller:
    return Controller(cast("SiteStore", None), "me", jobs)


def points(group: str, name: str, *places: str) -> Found:
    """Return the entry points by which packages register something under a name."""
    return [EntryPoint(name, place, group) for place in places]


@pytest.mark.parametrize(
    ("register", "name", "both"),
    [
        pytest.param(
            lambda: table("step", (*STEPS.values(), Step("verify_site"))),
            "step 'verify_site'",
            ("submits=True", "submits=False"),
            id="step",
        ),
        pytest.param(
            lambda: table("kind of action", (*KINDS.values(), replace(KINDS["deploy_site"], description="Else."))),
            "kind of action 'deploy_site'",
            ("Deploy a site of baremetal servers", "Else."),
            id="kind of action",
        ),
        pytest.param(
            lambda: ActionKind("twice", "", ("acquire", "load_design", "acquire")),
            "step of twice 'acquire'",
            ("Step(name='acquire', submits=False, shared_task='begin_action') and Step(name='acquire', ",),
            id="step of a kind",
        ),
        pytest.param(
            lambda: policy_set(points(POLICIES, "more", "a:b", "c:d")),
            "policy 'more'",
            ("by a:b of no package", "by c:d of no package"),
            id="policy",
        ),
        pytest.param(
            lambda: policy_set(points(POLICIES, "default-group", "a:b")),
            "policy 'default-group'",
            ("by slipway", "by a:b of no package"),
            id="own policy",
        ),
        pytest.param(
            lambda: watcher_set(points(WATCHERS, "gate", "a:b", "c:d")),
            "watcher 'gate'",
            ("by a:b of no package", "by c:d of no package"),
            id="watcher",
        ),
        pytest.param(
            lambda: watcher_set(points(WATCHERS, WEBHOOK, "a:b")),
            "watcher 'webhook'",
            ("by slipway", "by a:b of no package"),
            id="own watcher",
        ),
        pytest.param(
            lambda: check_set(points(CHECKS, "racks", "a:b", "c:d")),
            "check 'racks'",
            ("by a:b of no package", "by c:d of no package"),
            id="check of nodes",
        ),
        pytest.param(
            lambda: check_set(points(CHECKS, AS_LEFT, "a:b")),
            f"check '{AS_LEFT}'",
            ("by slipway", "by a:b of no package"),
            id="own check of nodes",
        ),
        pytest.param(
            lambda: start_controller(Job("upkeep", 1.0, work), Job("upkeep", 1.0, work_too)),
            "check 'upkeep'",
            ("test_registrations.work (0)", "test_registrations.work_too (1)"),
            id="check of the controller",
        ),
    ],
)
def test_rule_42_two_registrations_of_one_thing_name_both(
    register: Callable[[], object], name: str, both: tuple[str, ...]
) -> None:
    with pytest.raises((ValueError, StrategyError, EngineError)) as refused:
        register()
    for words in (name, *both):
        assert words in str(refused.value)


def test_rule_42_two_jobs_of_one_check_are_refused_also_where_they_do_the_same() -> None:
    with pytest.raises(StrategyError, match=r"check 'upkeep' is registered by .*work \(0\) and by .*work \(1\)"):
        start_controller(Job("upkeep", 1.0, work), Job("upkeep", 1.0, work))
