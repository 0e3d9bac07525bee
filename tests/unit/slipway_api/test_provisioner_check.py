"""What the provisioner says of a design, as messages in Airship's shape."""

from __future__ import annotations

from contextlib import closing

from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.protocol import DesignMessage, DesignValidation
from site_engine.designs import REFUSAL_STAYS
from slipway_api.sites.provisioner_check import messages_of, names_problem


def _said(valid: bool, *messages: tuple[str, str]) -> list[tuple[str, bool]]:
    validation = DesignValidation(valid, tuple(DesignMessage(level, text, ()) for level, text in messages))
    found = messages_of(validation)
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


def test_the_documents_that_the_provisioner_names() -> None:
    message = DesignMessage("Error", "bad", ("drydock/BaremetalNode/v1/n1", "odd"), "DD1001")
    shown, left_out = messages_of(DesignValidation(True, (message,), omitted=3))
    assert left_out["message"] == "and 3 more remarks"
    assert shown["documents"] == [
        {"schema": "drydock/BaremetalNode/v1", "name": "n1"},
        {"schema": "", "name": "odd"},
    ]
    assert (shown["source"], shown["name"]) == ("Drydock", "DD1001")


def test_names_that_the_provisioner_would_lose() -> None:
    with closing(DrydockProvisioner("http://drydock.test")) as drydock:
        assert names_problem(drydock, []) == []
        assert names_problem(drydock, ["n1", "x" * 32]) == []
        (message,) = names_problem(drydock, ["n1", "x" * 33])
    assert message["error"]
    assert "x" * 33 in message["message"]
