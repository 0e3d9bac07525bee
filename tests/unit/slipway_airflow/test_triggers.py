"""What the trigger gives back when it cannot begin."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from airflow.sdk import BaseHook, Connection

from site_engine.errors import SettingsError
from site_engine.provisioners import ProvisionerConnection
from site_store import SiteStore, StoreUnavailable
from slipway_airflow.triggers import ProvisionerTaskTrigger


def _fails(error: Exception) -> Callable[..., NoReturn]:
    def fail(*_: object, **_named: object) -> NoReturn:
        raise error

    return fail


async def _first() -> Any:
    async for event in ProvisionerTaskTrigger("slipway_provisioner", "t-1", 1, 0.0, 60.0, 60.0).run():
        return event
    return None


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        ("open", StoreUnavailable("the database is away")),
        ("connect", SettingsError("no Drydock URL")),
        ("get", StoreUnavailable("the database is away")),
    ],
)
def test_what_was_opened_is_closed_where_the_rest_fails(
    broken: str, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    still_open: list[str] = []

    def opened(name: str, **members: Any) -> Any:
        still_open.append(name)
        return SimpleNamespace(close=lambda: still_open.remove(name), **members)

    async def found(conn_id: str) -> Connection:
        return Connection(conn_id=conn_id, conn_type="drydock", host="http://drydock:9000")

    action = SimpleNamespace(get=lambda _: SimpleNamespace(dag_id="deploy_site"))
    operation = SimpleNamespace(get=_fails(error) if broken == "get" else lambda _: SimpleNamespace(action_id="a"))
    made: dict[str, Callable[..., Any]] = {
        "open": lambda **_: opened("store", operations=operation, actions=action),
        "connect": lambda *_: opened("client"),
    }
    if broken in made:
        made[broken] = _fails(error)
    monkeypatch.setattr(BaseHook, "aget_connection", found)
    monkeypatch.setattr(SiteStore, "open", made["open"])
    monkeypatch.setattr(ProvisionerConnection, "connect", made["connect"])
    with pytest.raises(type(error)):
        asyncio.run(_first())
    assert still_open == []
