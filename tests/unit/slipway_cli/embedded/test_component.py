"""A component's restarts and its log; the supervisor's controller, on which nothing else depends."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from slipway_cli import SlipwayCliError
from slipway_cli.embedded.component import MOST_DEATHS, PRELOADED, Component, back_off, open_log, tail
from slipway_cli.embedded.home import READY
from slipway_cli.embedded.settings import EmbeddedSettings
from slipway_cli.embedded.supervisor import Supervisor


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


def supervisor(home: Path, said: list[str], **environ: str) -> Supervisor:
    """Return one that is ready, with nothing started."""
    made = Supervisor(EmbeddedSettings.from_environment(home, environ=environ), said.append)
    made._runtime = cast(Any, SimpleNamespace(state=READY))
    made._guard = cast(Any, SimpleNamespace(forget=lambda _: None))
    return made


def dead(home: Path, deaths: int) -> Component:
    """Return a component that has died so often in a row."""
    log = home / "some.log"
    log.write_text("it could not\n")
    component = SimpleNamespace(
        deaths=deaths, title="the controller", log=log, log_start=0, pid=1, kill_rest=lambda: [], name="some"
    )
    return cast(Component, component)


def test_one_that_dies_all_the_time_ends_nothing_and_is_not_told_of_for_ever(tmp_path: Path) -> None:
    said: list[str] = []
    made = supervisor(tmp_path, said)
    for deaths in range(1, 100):
        made._controller = dead(tmp_path, deaths)
        made._bury(made._controller, 1)
    assert len(said) == MOST_DEATHS
    assert "keeps ending (exit status 1)" in said[-1]
    with pytest.raises(SlipwayCliError, match="died 5 times in a row"):
        made._bury(dead(tmp_path, MOST_DEATHS), 1)


def test_where_the_store_is_anothers_there_is_none(tmp_path: Path) -> None:
    said: list[str] = []
    made = supervisor(tmp_path, said, SLIPWAY_DATABASE_URL="postgresql://elsewhere/slipway")
    made._bring_up_controller({})
    assert made._controller is None
    assert said == ["the store is another's (SLIPWAY_DATABASE_URL): no controller is started here"]
