"""How the progress of groups is shown."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from api_client.slipway import GroupProgress, RunProgress
from slipway_cli.terminal.progress import Frame, open_view
from slipway_cli.terminal.progress_table import describe, table_lines
from tests.support.terminal_screens import WIDTHS, TerminalScreen


def group(state: str, phase: str | None = None, reason: str | None = None, **counts: int) -> GroupProgress:
    return GroupProgress("racks", state, reason, True, phase, {"total": 12, **counts})


def progress(*groups: GroupProgress) -> RunProgress:
    return RunProgress("running", None, groups, None, None)


def shown(width: int, height: int, now: RunProgress, *, ascii_only: bool = False) -> str:
    lines = table_lines(now, width, height, ascii_only=ascii_only)
    assert len(lines) <= height
    assert all(line.cell_len <= width for line in lines)
    return "\n".join(line.plain for line in lines)


def drawn(width: int, *groups: GroupProgress, ascii_only: bool = False) -> str:
    return shown(width, 40, progress(*groups), ascii_only=ascii_only)


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (group("pending"), "pending"),
        (group("pending", failure=1), "pending"),
        (group("running", "prepare", prepared=3), "preparing, 3 of 12 prepared"),
        (group("running", "prepare", prepared=3, success=1, failure=2), "preparing, 4 of 12 prepared, 2 failed"),
        (group("running", "deploy", prepared=8, success=4), "deploying, 4 of 12 deployed"),
        (
            replace(group("running", "deploy", success=4), batch="batch 2 of about 3"),
            "deploying, batch 2 of about 3, 4 of 12 deployed",
        ),
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
    assert "paused: the group at work ends" in shown(80, 20, replace(progress(group("running")), paused=True))


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


@pytest.mark.parametrize("width", [24, 40, 60, 80, 200])
def test_a_name_is_never_cut_and_words_fold(width: int) -> None:
    name = "monitoring-nodes-2"
    failed = replace(group("failure", "deploy", "deploy_criteria", success=5, failure=7), name=name)
    text = drawn(width, failed)
    assert name in text
    assert ("·" in text) == (width >= 80), "a bar where there is room"
    assert "7 failed" in " ".join(text.split())


def test_a_very_long_name_is_folded() -> None:
    text = drawn(120, replace(group("pending"), name="n" * 41))
    assert "n" * 40 in text
    assert "\n  n *" in text


def many(number: int, at_work: int, failed: tuple[int, ...] = ()) -> RunProgress:
    """A run of many groups: those before the one at work have succeeded or failed, the others wait."""

    def state(i: int) -> GroupProgress:
        if i in failed:
            return group("failure", "deploy", "deploy_criteria", success=5, failure=7)
        if i == at_work:
            return group("running", "deploy", success=4)
        return group("success", success=12) if i < at_work else group("pending")

    return progress(*(replace(state(i), name=f"rack-{i:03}") for i in range(number)))


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("height", [2, 5, 10, 20, 50])
@pytest.mark.parametrize("at_work", [0, 1, 50, 99])
def test_the_group_at_work_is_always_in_view(width: int, height: int, at_work: int) -> None:
    failed = tuple(i for i in (2, 3, 48, 49, 97) if i < at_work)
    now = replace(many(100, at_work, failed), elapsed=60.0, estimate=600.0)
    assert f"rack-{at_work:03}" in shown(width, height, now)


def test_a_hundred_groups_on_twenty_lines() -> None:
    now = replace(many(100, 40, (12,)), elapsed=725.0, estimate=2700.0)
    assert shown(80, 20, now).splitlines() == [
        "40 of 100 groups finished, 1 failed; 477 of 1200 nodes deployed, 7 failed",
        "elapsed 12 min 05 s; about 32 min 55 s left (earlier ones took 45 min 00 s)",
        "… 12 groups success",
        "✗ rack-012 *  ━━━━━━━━━━··············  failure, criteria not met after deploy,",
        "                                        5 of 12 deployed, 7 failed",
        "… 21 groups success",
        *(f"✓ rack-0{i} *  ━━━━━━━━━━━━━━━━━━━━━━━━  success, 12 of 12 deployed" for i in range(34, 40)),
        "▶ rack-040 *  ━━━━━━━━················  deploying, 4 of 12 deployed",
        *(f"· rack-0{i} *  ························  pending, 12 nodes" for i in range(41, 46)),
        "… 54 groups pending",
        "* critical",
    ]


def test_what_is_left_out_tells_failures_first() -> None:
    now = many(100, 99, tuple(range(0, 98, 2)))
    assert "… 96 groups: 48 failure, 48 success" in shown(80, 6, now)


def test_all_is_shown_where_it_fits() -> None:
    text = shown(80, 120, many(100, 40, (12,)))
    assert "…" not in text
    assert all(f"rack-{i:03}" in text for i in range(100))


def test_no_group_is_at_work_between_two() -> None:
    now = progress(*(replace(group("success" if i < 60 else "pending"), name=f"rack-{i:03}") for i in range(100)))
    assert "rack-060" in shown(80, 10, now), "the next one"


@pytest.mark.parametrize(
    ("elapsed", "estimate", "words"),
    [
        (None, 600.0, None),
        (60.0, None, "elapsed 1 min 00 s"),
        (60.0, 600.0, "elapsed 1 min 00 s; about 9 min 00 s left (earlier ones took 10 min 00 s)"),
        (700.0, 600.0, "elapsed 11 min 40 s; longer than earlier ones took 10 min 00 s"),
    ],
)
def test_the_time_stands_on_top(elapsed: float | None, estimate: float | None, words: str | None) -> None:
    lines = shown(100, 20, replace(many(3, 1), elapsed=elapsed, estimate=estimate)).splitlines()
    assert [line for line in lines if "elapsed" in line] == ([words] if words else [])


def test_the_time_goes_on_between_two_answers() -> None:
    out, now = io.StringIO(), 100.0
    frame = Frame(replace(many(3, 1), elapsed=60.0), lambda: now)
    now = 105.0
    Console(file=out, width=80, height=20).print(frame)
    assert "elapsed 1 min 05 s" in out.getvalue()


def test_nodes_that_groups_share_are_counted_once_where_that_is_known() -> None:
    now = replace(many(3, 1), nodes={"total": 20, "success": 12, "failure": 0})
    assert "12 of 20 nodes deployed\n" in shown(80, 20, now)


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
    row = next(line for line in table_lines(progress(shown), 100, 20) if "racks" in line.plain)
    Console(file=out, force_terminal=True, width=100, color_system="standard").print(row)
    colours = {int(found) for found in re.findall(r"\x1b\[(?:1;)?(3[1-7])m", out.getvalue())}
    assert colours == {code}


@pytest.mark.parametrize("width", WIDTHS)
def test_each_group_has_a_line_of_its_own_on_a_terminal(width: int) -> None:
    screen = TerminalScreen(width)
    groups = [replace(group("running", "deploy", success=3), name=f"group-{i}") for i in range(3)]
    with open_view(screen.console, print) as view:
        view.update(progress(*groups))
    lines = screen.lines()
    assert [line.split()[1] for line in lines if "group-" in line] == ["group-0", "group-1", "group-2"]
    assert all(line.endswith("3 of 12 deployed") for line in lines if "group-" in line)


def test_a_group_that_waits_for_a_person_says_so_and_nothing_else() -> None:
    said = "waits for approval: slipway approve action/A --group racks: Go on?"
    assert describe(replace(group("running", "prepare"), waits=said)) == said
