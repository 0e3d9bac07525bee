"""How the progress of groups is shown."""

import io

import pytest
from rich.console import Console

from slipway_cli.progress import describe, draw, open_view
from slipway_cli.slipway_api import GroupProgress, RunProgress


def group(state: str, phase: str | None = None, reason: str | None = None, **counts: int) -> GroupProgress:
    return GroupProgress("racks", state, reason, True, phase, {"total": 12, **counts})


def progress(*groups: GroupProgress) -> RunProgress:
    return RunProgress("running", None, groups, None, None)


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (group("pending"), "pending"),
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


def test_on_a_terminal_the_table_has_every_group() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100)
    with open_view(console, lambda _line: pytest.fail("no lines on a terminal")) as view:
        view.update(progress(group("running", "deploy", success=6)))
    assert "deploying, 6 of 12 deployed" in out.getvalue()
    assert "critical" in out.getvalue()


def test_the_bar_counts_both_phases() -> None:
    table = draw(progress(group("running", "deploy", success=6, prepared=6)))
    bar = next(iter(table.columns[1].cells))
    assert (getattr(bar, "completed", None), getattr(bar, "total", None)) == (18, 24)
