"""What is registered, by entry points and otherwise: it is loaded by name, and refused where two have one (rule 42)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import cast

import pytest

from design_rendering.policies import every_node_has_a_group
from site_engine.controller.controller import Controller, Job
from site_engine.errors import EngineError
from site_engine.extensions import (
    CHECKS,
    POLICIES,
    WATCHERS,
    ExtensionError,
    check_installed,
    check_set,
    installed_policies,
    installed_watchers,
    policy_set,
    watcher_set,
)
from site_engine.kinds import KINDS, STEPS, ActionKind, Step, table
from site_engine.node_states.checks import AS_LEFT
from site_store import SiteStore
from strategy_lib.actors import WEBHOOK
from strategy_lib.errors import StrategyError


def install(
    folder: Path, name: str, source: str, entry_points: Mapping[str, Mapping[str, str]], version: str = "1.0"
) -> None:
    """Put a distribution of one module of the same name into a folder, which is to be on `sys.path`.

    Parameters
    ----------
    entry_points : by group, each place by its name, such as `{"slipway.policies": {"mine": "module:function"}}`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(source)
    for old in folder.glob(f"{name}-*.dist-info"):
        for file in old.iterdir():
            file.unlink()
        old.rmdir()
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [
        f"[{group}]\n" + "".join(f"{point} = {place}\n" for point, place in points.items())
        for group, points in entry_points.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    importlib.invalidate_caches()


PLACE = "design_rendering.policies:every_node_has_a_group"
SOURCE = """\
from site_engine.watchers import DesignWatcher

def policy(objects):
    return {}

def two(objects, more):
    return {}

def tell(told):
    pass

number = 7
good = DesignWatcher(tell, ["rack", "network/oob"], ["node/gw01"])
nothing = DesignWatcher(tell, [])
text = DesignWatcher(tell, "node")
unknown = DesignWatcher(tell, ["nodes"])
foreign = DesignWatcher(tell, ["acme/Thing/v1"])
profiles = DesignWatcher(tell, ["network"], ["host_profile"])
untold = DesignWatcher(number, ["node"])
one = DesignWatcher(tell, ["node/gw01"], ["node/gw02"])
other = DesignWatcher(tell, ["node/gw02"], ["node"])
"""
Installed = Callable[[Mapping[str, Mapping[str, str]]], None]


def point(name: str, value: str = PLACE) -> EntryPoint:
    return EntryPoint(name, value, POLICIES)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    """Installs the package `acme_slipway` with these entry points."""

    def forget() -> None:
        installed_policies.cache_clear()
        installed_watchers.cache_clear()
        sys.modules.pop("acme_slipway", None)

    def make(points: Mapping[str, Mapping[str, str]]) -> None:
        install(tmp_path / "packages", "acme_slipway", SOURCE, points, "2.1")
        monkeypatch.syspath_prepend(tmp_path / "packages")
        forget()

    forget()
    yield make
    forget()


def test_slipways_own_policy_is_there() -> None:
    assert installed_policies().policies["default-group"] is every_node_has_a_group


def test_policies_are_loaded_and_their_set_has_a_digest_of_its_own() -> None:
    found, same, own = policy_set([point("more")]), policy_set([point("more"), point("more")]), policy_set([])
    assert set(found.policies) == {"default-group", "more"}
    assert found.digest == same.digest != own.digest


def test_what_a_package_registers_is_there_and_its_version_is_part_of_the_set(
    installed: Installed, tmp_path: Path
) -> None:
    points = {POLICIES: {"mine": "acme_slipway:policy"}, WATCHERS: {"gate": "acme_slipway:good"}}
    installed(points)
    check_installed()
    assert set(installed_policies().policies) == {"default-group", "mine"}
    (watcher,) = installed_watchers().values()
    assert (set(watcher.watches), set(watcher.touches)) == ({"rack", "network/oob"}, {"node/gw01"})
    before = installed_policies().digest
    install(tmp_path / "packages", "acme_slipway", SOURCE, points, "2.2")
    installed_policies.cache_clear()
    assert installed_policies().digest != before


@pytest.mark.parametrize("value", ["no_such_package:policy", "design_rendering.policies:nothing", "sys:path"])
def test_what_cannot_be_used_is_named(value: str) -> None:
    with pytest.raises(ExtensionError, match=f"policy 'bad' .{value} of no package."):
        policy_set([point("bad", value)])


@pytest.mark.parametrize(
    ("group", "name", "attribute", "words"),
    [
        (POLICIES, "bad", "number", "is nothing that can be called: it must be a function of one argument"),
        (POLICIES, "bad", "two", "cannot be called with one argument"),
        (POLICIES, "bad", "missing", "cannot be loaded: AttributeError"),
        (POLICIES, "no good", "policy", "has no usable name"),
        (
            WATCHERS,
            "webhook",
            "good",
            "watcher 'webhook' is registered by slipway and by acme_slipway:good of acme_slip",
        ),
        (WATCHERS, "bad", "tell", "is a function: it must be a site_engine.watchers.DesignWatcher"),
        (WATCHERS, "bad", "nothing", "watches nothing: name kinds"),
        (WATCHERS, "bad", "text", "has `watches` that is no list of texts"),
        (WATCHERS, "bad", "unknown", "watches 'nodes', and there is no such kind of objects. Did you mean node or"),
        (WATCHERS, "bad", "profiles", "touches 'host_profile': only nodes can be asked for again"),
        (WATCHERS, "bad", "untold", "has a `tell` that cannot be called with one argument"),
    ],
)
def test_rule_42_a_bad_registration_is_refused_with_its_package_and_what_would_be_right(
    installed: Installed, group: str, name: str, attribute: str, words: str
) -> None:
    good = {"acme": "acme_slipway:policy"} if group == POLICIES else {"acme": "acme_slipway:foreign"}
    installed({group: {**good, name: f"acme_slipway:{attribute}"}})
    with pytest.raises(ExtensionError) as caught:
        check_installed()
    assert words in str(caught.value)
    assert "of acme_slipway 2.1" in str(caught.value)
    with pytest.raises(ExtensionError):
        (installed_policies if group == POLICIES else installed_watchers)()


def test_all_that_is_wrong_is_said_at_once(installed: Installed) -> None:
    installed({POLICIES: {"a": "acme_slipway:number"}, WATCHERS: {"b": "acme_slipway:tell", "c": "acme_slipway:text"}})
    with pytest.raises(ExtensionError, match=r"policy 'a' .*; watcher 'b' .*; watcher 'c' "):
        check_installed()


def test_rule_42_watchers_that_touch_what_they_watch_are_refused_with_the_path(installed: Installed) -> None:
    installed({WATCHERS: {"one": "acme_slipway:one", "other": "acme_slipway:other"}})
    with pytest.raises(ExtensionError) as caught:
        check_installed()
    assert "other -> other" in str(caught.value)
    assert "one -> other -> one" in str(caught.value)


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
            ("test_extensions.work (0)", "test_extensions.work_too (1)"),
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
