"""A component's restarts and its log."""

import importlib.util
from pathlib import Path

import pytest

from slipway_cli.embedded.component import PRELOADED, back_off, open_log, tail


@pytest.mark.parametrize(("deaths", "seconds"), [(1, 0.2), (2, 1), (3, 2), (4, 4), (5, 8), (50, 8), (100_000, 8)])
def test_back_off(deaths: int, seconds: float) -> None:
    assert back_off(deaths) == seconds


@pytest.mark.parametrize("module", sorted({name for names in PRELOADED.values() for name in names.split(",")}))
def test_the_modules_to_import_first_exist(module: str) -> None:
    """The launcher leaves out what cannot be imported, so a renamed module would only be slow."""
    assert importlib.util.find_spec(module) is not None


def test_tail_shows_the_last_lines_of_this_run_only(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with open_log(log) as out:
        out.write(b"old\n")
    start = log.stat().st_size
    with open_log(log) as out:
        out.write(b"one\n\ntwo\nthree\n")
    assert tail(log, lines=2, start=start) == "  two\n  three"
    assert tail(log, lines=9, start=start) == "  one\n  two\n  three"
    assert tail(tmp_path / "none") == "  (no log)"
