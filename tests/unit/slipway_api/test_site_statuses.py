"""The check of a provisioner answers in time, whatever the provisioner does."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from provisioner_client.connection import ConnectionValues
from provisioner_client.errors import ProvisionerUnavailable
from site_engine.provisioners import ProvisionerConnection
from slipway_api.sites import site_statuses


def test_a_provisioner_that_is_silent_is_given_up_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    end, closed, hurried = threading.Event(), threading.Event(), []

    def connect(connection: ProvisionerConnection, *_: object, **__: object) -> Any:
        hurried.append(connection.values.hurried)
        return SimpleNamespace(check=end.wait, close=closed.set)

    connection = ProvisionerConnection(ConnectionValues("drydock", "slipway_provisioner", "http://drydock:9000"))
    monkeypatch.setattr(ProvisionerConnection, "connect", connect)
    monkeypatch.setattr(site_statuses, "provisioners", lambda: SimpleNamespace(for_site=lambda _: connection))
    monkeypatch.setattr(site_statuses, "open_store", lambda: None)
    monkeypatch.setattr(site_statuses, "redact_for_site", lambda *_: str)
    monkeypatch.setattr(site_statuses, "PATIENCE", 0.01)
    with pytest.raises(ProvisionerUnavailable, match=r"Drydock has not answered for 0.01 s .*'slipway_provisioner'"):
        site_statuses.provisioner_check("alpha")
    assert hurried == [True]
    end.set()
    assert closed.wait(60)
