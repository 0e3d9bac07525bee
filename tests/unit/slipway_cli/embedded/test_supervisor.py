"""What `slipway up` makes of its controller, on which nothing else depends."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from slipway_cli import SlipwayCliError
from slipway_cli.embedded.component import MOST_DEATHS, Component
from slipway_cli.embedded.home import READY
from slipway_cli.embedded.settings import EmbeddedSettings
from slipway_cli.embedded.supervisor import Supervisor


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
