"""The pure parts of configdocs: versions in queries, conditions on the buffer, collections as text, Drydock's words."""

from __future__ import annotations

from contextlib import closing

import pytest
import yaml

from design_rendering.errors import DocumentError
from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.protocol import DesignMessage, DesignValidation
from site_engine.designs import REFUSAL_STAYS
from site_store import Version
from slipway_api.documents.collection_text import read_collection
from slipway_api.documents.document_version import parse_version, two_versions
from slipway_api.documents.etag import require_match
from slipway_api.http.api_errors import ApiError
from slipway_api.sites.provisioner_check import messages_of, names_problem
from tests.support.sites import document


def test_versions_by_name_and_number() -> None:
    assert parse_version("committed") is Version.COMMITTED
    assert parse_version(" 7 ") == 7
    for text in ("", "Committed", "-1", "1.0", "٣", "9" * 10):
        with pytest.raises(ApiError) as caught:
            parse_version(text)
        assert caught.value.status == 400


def test_two_versions_stand_in_the_order_of_their_making() -> None:
    assert two_versions([]) == (Version.COMMITTED, Version.BUFFER)
    for given in (["buffer", "last_site_action"], ["last_site_action,buffer"], ["buffer,last_site_action"]):
        assert two_versions(given) == (Version.LAST_SITE_ACTION, Version.BUFFER)
    for wrong in (["buffer"], ["buffer", "buffer"], ["buffer,"], ["buffer", "1"], ["a", "b", "c"], [""]):
        with pytest.raises(ApiError):
            two_versions(wrong)


@pytest.mark.parametrize("header", ['"7"', "*", '"1", "7"', ' "7" '])
def test_a_condition_that_is_met(header: str) -> None:
    assert require_match(header, 7) == 7


@pytest.mark.parametrize("header", ['"6"', "7", 'W/"7"', "", '"*"', '"77"'])
def test_a_condition_that_is_not_met(header: str) -> None:
    with pytest.raises(ApiError) as caught:
        require_match(header, 7)
    assert caught.value.status == 412
    assert caught.value.headers == {"ETag": '"7"'}


def test_no_condition() -> None:
    assert require_match(None, 7) is None


def test_a_placeholder_is_found_wherever_it_stands() -> None:
    data = {"a": [{"b": "[redacted]"}], "not one": "x [redacted]", "list": ["redacted"]}
    text = yaml.safe_dump(document("x/Y/v1", "d", data))
    with pytest.raises(DocumentError) as caught:
        read_collection("c", text)
    (problem,) = caught.value.problems
    assert (problem.path, problem.source) == ("$.data.a[0].b", "c")
    assert problem.line is not None
    assert "[redacted]" in text.splitlines()[problem.line - 1]


def test_the_layer_tells_documents_apart() -> None:
    site, kind = (
        yaml.safe_dump(document("x/Y/v1", "d", 1, layeringDefinition={"layer": layer})) for layer in ("site", "type")
    )
    assert len(read_collection("c", f"{site}---\n{kind}")) == 2
    with pytest.raises(DocumentError, match="of layer 'site' at line 1"):
        read_collection("c", f"{site}---\n{site}")


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
