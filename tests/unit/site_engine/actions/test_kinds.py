"""The table of action kinds: what each is, and what a wrong row says."""

from __future__ import annotations

import pytest

from site_engine.kinds import KINDS, ActionKind, kind_of, states_of_steps, tasks_of

_BEGIN = ("acquire", "load_design", "validate_design")


@pytest.mark.parametrize(
    ("name", "targeted", "destructive", "groups", "whole_site"),
    [
        ("deploy_site", False, False, True, True),
        ("update_site", False, False, True, True),
        ("redeploy_server", True, True, True, False),
        ("relabel_nodes", True, False, False, False),
        ("destroy_nodes", True, True, False, False),
    ],
)
def test_what_a_kind_is(name: str, targeted: bool, destructive: bool, groups: bool, whole_site: bool) -> None:
    kind = kind_of(name)
    assert (kind.targeted, kind.is_destructive, kind.has_groups, kind.whole_site) == (
        targeted,
        destructive,
        groups,
        whole_site,
    )


def test_a_kind_has_every_step_once() -> None:
    with pytest.raises(ValueError, match="the step of twice 'acquire' is registered twice"):
        ActionKind("twice", "", ("acquire", "load_design", "acquire"))
    with pytest.raises(ValueError, match="'report'"):
        ActionKind("twice", "", ("acquire", "report"))


def test_a_kind_has_only_steps_that_exist() -> None:
    with pytest.raises(ValueError, match="'strange' has steps that do not exist: fly"):
        ActionKind("strange", "", ("acquire", "fly"))


def test_the_action_of_another_version_has_the_steps_of_deploy_site() -> None:
    assert KINDS.get("update_software") is None
    assert kind_of("update_software").steps == kind_of("deploy_site").steps
    assert kind_of("update_software").name == "update_software"


@pytest.mark.parametrize(
    ("name", "named", "found", "behind"),
    [
        ("deploy_site", None, (), ("after_success",)),
        ("update_site", None, ("relabel_nodes", "destroy_nodes"), ("destroy_nodes", "after_success")),
        ("redeploy_server", "destroy_nodes", (), ()),
        ("relabel_nodes", "relabel_nodes", (), ()),
        ("destroy_nodes", "destroy_nodes", (), ()),
    ],
)
def test_which_nodes_a_step_is_about(
    name: str, named: str | None, found: tuple[str, ...], behind: tuple[str, ...]
) -> None:
    kind = kind_of(name)
    assert (kind.node_step, kind.found_steps, kind.steps_behind) == (named, found, behind)
    assert kind.node_steps == (*((named,) if named else ()), *found)


@pytest.mark.parametrize(
    ("state", "noted", "shown"),
    [
        pytest.param("success", {}, ("success",) * 3, id="over"),
        pytest.param("skipped", {}, ("skipped",) * 3, id="without work"),
        pytest.param("running", {"acquire": "success"}, ("success", "running", None), id="at work"),
        pytest.param("failed", {"acquire": "success"}, ("success", "failed", "upstream_failed"), id="failed"),
        pytest.param("failed", dict.fromkeys(_BEGIN, "success"), ("success", "success", "failed"), id="killed"),
    ],
)
def test_steps_that_share_a_task_stand_as_they_have_noted_it(
    state: str, noted: dict[str, str], shown: tuple[str | None, ...]
) -> None:
    assert tasks_of(_BEGIN) == ("begin_action",)
    assert states_of_steps(_BEGIN, {"begin_action": state}, noted) == dict(zip(_BEGIN, shown, strict=True))
