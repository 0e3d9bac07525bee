"""How the progress of groups is shown."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from api_client.slipway import GroupProgress, RunProgress
from slipway_cli.progress import describe, draw, open_view


def group(state: str, phase: str | None = None, reason: str | None = None, **counts: int) -> GroupProgress:
    return GroupProgress("racks", state, reason, True, phase, {"total": 12, **counts})


def progress(*groups: GroupProgress) -> RunProgress:
    return RunProgress("running", None, groups, None, None)


def drawn(width: int, *groups: GroupProgress, ascii_only: bool = False) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(draw(progress(*groups), width, ascii_only=ascii_only))
    return out.getvalue()


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (group("pending"), "pending"),
        (group("pending", failure=1), "pending"),
        (group("running", "prepare", prepared=3), "preparing, 3 of 12 prepared"),
        (group("running", "prepare", prepared=3, success=1, failure=2), "preparing, 4 of 12 prepared, 2 failed"),
        (group("running", "deploy", prepared=8, success=4), "deploying, 4 of 12 deployed"),
        (group("success", "deploy", success=11, failure=1), "success, 11 of 12 deployed, 1 failed"),
        (
            group("failure", "deploy", "deploy_criteria", success=5, unknown=7),
            "failure, criteria not met after deploy, 5 of 12 deployed, 7 unknown",
        ),
        (group("failure", None, "dependency"), "failure, a group it depends on failed"),
    ],
)
def test_a_group_in_words(shown: GroupProgress, words: str) -> None:
    assert describe(shown) == words


def test_without_a_terminal_only_changes_are_printed() -> None:
    lines: list[str] = []
    with open_view(Console(file=io.StringIO()), lines.append) as view:
        for now in (group("pending"), group("running", "deploy"), group("running", "deploy"), group("success")):
            view.update(progress(now))
    assert lines == ["racks: deploying, 0 of 12 deployed", "racks: success, 0 of 12 deployed"]


def test_what_is_not_about_groups_is_told_once() -> None:
    lines: list[str] = []
    states = [
        replace(progress(), state="pending"),
        replace(progress(), state="pending"),
        replace(progress(), step="verify_site"),
        replace(progress(group("running", "deploy")), step="plan_groups"),
        replace(progress(group("running", "deploy")), paused=True),
        replace(progress(group("success")), paused=True),
        replace(progress(group("success")), state="success", paused=True),
    ]
    with open_view(Console(file=io.StringIO()), lines.append) as view:
        for state in states:
            view.update(state)
    assert lines == [
        "waiting for Airflow to start it",
        "step verify_site",
        "racks: deploying, 0 of 12 deployed",
        "paused: the group at work ends, no other starts",
        "racks: success, 0 of 12 deployed",
    ]


def test_a_terminal_shows_the_step_before_there_are_groups_and_a_pause() -> None:
    out = io.StringIO()
    with open_view(Console(file=out, force_terminal=True, width=100), lambda _: None) as view:
        view.update(replace(progress(), step="verify_site"))
    assert "step verify_site" in out.getvalue()
    paper = io.StringIO()
    Console(file=paper, width=100).print(draw(replace(progress(group("running")), paused=True), 100))
    assert "* critical; paused: the group at work ends" in paper.getvalue()


def test_on_a_terminal_the_table_has_every_group() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100)
    with open_view(console, lambda _line: pytest.fail("no lines on a terminal")) as view:
        view.update(progress(group("running", "deploy", success=6)))
    assert "deploying, 6 of 12 deployed" in out.getvalue()
    assert "critical" in out.getvalue()


def test_the_bar_counts_both_phases() -> None:
    assert "━" * 18 + "·" * 6 in drawn(120, group("running", "deploy", success=6, prepared=6))


def test_a_bar_tells_done_from_pending_without_colours() -> None:
    text = drawn(120, group("success", total=2, success=2), group("pending"), ascii_only=True)
    assert "#" * 24 in text
    assert "." * 24 in text


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_a_name_is_never_cut_for_the_sake_of_a_bar(width: int) -> None:
    name = "monitoring-nodes-2"
    shown = replace(group("failure", "deploy", "deploy_criteria", success=5, failure=7), name=name)
    text = drawn(width, shown)
    assert name in text
    assert ("·" in text) == (width == 200)
    assert "7 failed" in " ".join(text.split())


def test_a_very_long_name_is_cut() -> None:
    text = drawn(120, replace(group("pending"), name="n" * 41))
    assert "n" * 37 + "... *" in text


@pytest.mark.parametrize(
    ("shown", "code"),
    [
        (group("success", success=12), 32),
        (group("success", success=11, failure=1), 33),
        (group("success", success=11, unknown=1), 33),
        (group("failure", None, "dependency"), 31),
        (group("running", "deploy", failure=1), 36),
    ],
)
def test_green_yellow_and_red_mean_something(shown: GroupProgress, code: int) -> None:
    out = io.StringIO()
    Console(file=out, force_terminal=True, width=100, color_system="standard").print(draw(progress(shown), 100))
    colours = {int(found) for found in re.findall(r"\x1b\[(?:1;)?(3[1-7])m", out.getvalue())}
    assert colours == {code}
