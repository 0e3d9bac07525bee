"""What the provisioner says of a design, as messages in Airship's shape; and a check that always answers in time."""

from __future__ import annotations

import threading
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from provisioner_client import factory
from provisioner_client.connection import ConnectionValues
from provisioner_client.designs import DesignMessage, DesignValidation
from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.errors import ProvisionerUnavailable, SubmissionRefused
from provisioner_client.factory import ProvisionerFactory
from site_engine.designs import REFUSAL_STAYS, DesignCheck
from site_engine.errors import NoConnection
from site_engine.provisioners import ProvisionerConnection
from slipway_api.documents import provisioner_check
from slipway_api.documents.provisioner_check import messages_of, names_problem
from slipway_api.sites import site_statuses

if TYPE_CHECKING:
    from collections.abc import Collection

    from provisioner_client.protocol import Provisioner
    from site_store import SiteStore


def _said(valid: bool, *messages: tuple[str, str]) -> list[tuple[str, bool]]:
    validation = DesignValidation(valid, tuple(DesignMessage(level, text, ()) for level, text in messages))
    found = messages_of(validation, "Drydock")
    if not valid:
        assert found.pop()["message"] == REFUSAL_STAYS
    return [(message["level"], message["error"]) for message in found]


def test_what_the_provisioner_says() -> None:
    assert _said(True, ("Info", "good")) == [("Info", False)]
    assert _said(False, ("Error", "bad"), ("Warning", "odd")) == [("Error", True), ("Warning", False)]
    assert _said(False, ("ERROR", "bad"), ("strange", "word")) == [("Error", True), ("Error", True)]
    # The verdict counts, not the words.
    assert _said(True, ("Error", "odd")) == [("Warning", False)]
    assert _said(False, ("Warning", "odd")) == [("Warning", False), ("Error", True)]
    assert _said(False) == [("Error", True)]


def test_only_drydock_is_said_to_keep_a_refusal() -> None:
    refused = messages_of(DesignValidation(False, (DesignMessage("Error", "bad", ()),)), "MAAS")
    assert [message["message"] for message in refused] == ["bad"]
    assert "ingester" not in DesignCheck(DesignValidation(True, ()), 1, ("n1",), 0, "MAAS").shortage


def test_the_documents_that_the_provisioner_names() -> None:
    message = DesignMessage("Error", "bad", ("drydock/BaremetalNode/v1/n1", "odd"), "DD1001")
    shown, left_out = messages_of(DesignValidation(True, (message,), omitted=3), "MAAS")
    assert left_out["message"] == "and 3 more remarks"
    assert shown["documents"] == [
        {"schema": "drydock/BaremetalNode/v1", "name": "n1"},
        {"schema": "", "name": "odd"},
    ]
    assert (shown["source"], shown["name"]) == ("MAAS", "DD1001")
    assert left_out["source"] == "MAAS"


def test_names_that_the_provisioner_would_lose() -> None:
    with closing(DrydockProvisioner("http://drydock.test")) as drydock:
        assert names_problem(drydock, [], "MAAS") == []
        assert names_problem(drydock, ["n1", "x" * 32], "MAAS") == []
        (message,) = names_problem(drydock, ["n1", "x" * 33], "MAAS")
    assert message["error"]
    assert message["source"] == "MAAS"
    assert "x" * 33 in message["message"]


class Unconnected:
    """No site has a connection."""

    def for_site(self, site: str) -> ProvisionerConnection:
        raise NoConnection(site, f"p_{site}", "p", ["Drydock", "MAAS"])


def test_names_are_checked_also_where_no_provisioner_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provisioner_check, "provisioners", Unconnected)
    found = provisioner_check.ask(cast("SiteStore", None), "lab7", "", ["n1", "x" * 33], str)()
    assert [message["name"] for message in found] == [provisioner_check.NOT_ASKED, "NodeNames"]
    assert "no provisioner for site lab7" in found[0]["message"]


@pytest.mark.parametrize(("kind", "source", "other"), [("maas", "MAAS", "Drydock"), ("drydock", "Drydock", "MAAS")])
def test_without_a_connection_it_speaks_of_the_provisioner_that_the_design_is_for(
    monkeypatch: pytest.MonkeyPatch, kind: str, source: str, other: str
) -> None:
    monkeypatch.setattr(provisioner_check, "provisioners", Unconnected)
    found = provisioner_check.ask(cast("SiteStore", None), "lab7", "", ["n1", "x" * 33, "no.host"], str, kind=kind)()
    assert {message["source"] for message in found} == {source}
    assert other not in str(found)
    assert f"create an Airflow connection 'p_lab7' or 'p' of type {source}" in found[0]["message"]
    assert ("no.host" if kind == "maas" else "x" * 33) in found[1]["message"]


@pytest.mark.parametrize(
    ("kind", "named"), [("drydock", "n1"), ("drydock", "x" * 33), ("maas", "n1"), ("maas", "no.host")]
)
def test_names_are_checked_also_where_a_field_of_the_connection_is_wrong(
    kind: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = ConnectionValues(kind, "p", "http://drydock.test", extra={"poll_interval": "soon"})
    connected = SimpleNamespace(for_site=lambda site: ProvisionerConnection(values))
    monkeypatch.setattr(provisioner_check, "provisioners", lambda: connected)
    removed: list[str] = []
    revisions = SimpleNamespace(add_candidate=lambda *_: "token", remove_candidate=removed.append)
    store = SimpleNamespace(revisions=revisions, location="memory")
    found = provisioner_check.ask(cast("SiteStore", store), "lab7", "", [named], str)()
    assert [message["name"] for message in found][1:] == (["NodeNames"] if named != "n1" else [])
    assert removed == (["token"] if kind == "drydock" else []), "one of MAAS could not even be made"


class Refusing:
    """A backend's client that checks names, and nothing else."""

    def check_names(self, nodes: Collection[str]) -> None:
        raise SubmissionRefused("MAAS has no such names")

    def close(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize("found", [True, False])
def test_the_words_about_a_backend_are_its_rows(found: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ProvisionerFactory({"maas": ("MAAS", lambda *_: cast("Provisioner", Refusing()))})
    monkeypatch.setattr(factory, "FACTORY", made)
    connection = ProvisionerConnection(ConnectionValues("maas", "p", extra={"poll_interval": "soon"}))
    connected = SimpleNamespace(for_site=lambda _: connection) if found else Unconnected()
    monkeypatch.setattr(provisioner_check, "provisioners", lambda: connected)
    revisions = SimpleNamespace(add_candidate=lambda *_: "token", remove_candidate=lambda _: None)
    store = SimpleNamespace(revisions=revisions, location="memory")
    messages = provisioner_check.ask(cast("SiteStore", store), "lab7", "", ["n1"], str)()
    assert [(message["source"], message["name"]) for message in messages] == [
        ("MAAS", provisioner_check.NOT_ASKED),
        ("MAAS", "NodeNames"),
    ]


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
