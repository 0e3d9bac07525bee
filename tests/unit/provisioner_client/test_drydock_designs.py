"""Designs and selections by Drydock."""

from __future__ import annotations

from typing import Any

import pytest
import responses

from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.drydock.wire import ACTIONS
from provisioner_client.errors import (
    ProvisionerProtocolError,
    ProvisionerUnavailable,
)
from strategy_lib.strategy import Selector
from tests.unit.provisioner_client.drydock_answers import (
    API,
    BAD,
    DESIGN,
    GOOD,
    NOT_FOUND,
    REF,
    sent_body,
)


def test_a_design_is_validated_by_its_own_call_and_never_by_a_task(
    http: responses.RequestsMock, drydock: DrydockProvisioner
) -> None:
    http.post(f"{API}/validatedesign", json=GOOD)
    assert drydock.validate_design(DESIGN).valid
    assert sent_body(http.calls[0]) == {"href": REF}
    assert "validate_design" not in set(ACTIONS.values())


def test_a_design_that_is_bad_says_why(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.post(f"{API}/validatedesign", status=400, json=BAD)
    answer = drydock.validate_design(DESIGN)
    assert (answer.valid, [message.text for message in answer.messages]) == (False, ["rack has no gateway"])
    assert len(http.calls) == 1


def test_a_stumble_over_a_design_is_tried_once_more(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.post(f"{API}/validatedesign", status=500, json=NOT_FOUND)
    http.post(f"{API}/validatedesign", json=GOOD)
    assert drydock.validate_design(DESIGN).valid


@pytest.mark.parametrize(
    "answer",
    [{"status": 500, "json": {"title": "500"}}, {"status": 503}, {"status": 500, "body": "<html></html>"}],
    ids=["shape b", "503", "a page"],
)
def test_a_provisioner_in_trouble_says_nothing_about_a_design(
    http: responses.RequestsMock, drydock: DrydockProvisioner, answer: dict[str, Any]
) -> None:
    http.post(f"{API}/validatedesign", **answer)
    with pytest.raises(ProvisionerUnavailable):
        drydock.validate_design(DESIGN)


def test_a_design_is_validated_once_for_many_groups(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.post(f"{API}/validatedesign", json=GOOD)
    http.post(f"{API}/nodefilter", json=["n1"])
    for _ in range(3):
        drydock.select_nodes(DESIGN, [Selector(node_tags=("t",))])
    assert [call.request.url for call in http.calls].count(f"{API}/validatedesign") == 1


def test_a_group_that_matches_no_node_is_empty(http: responses.RequestsMock, drydock: DrydockProvisioner) -> None:
    http.post(f"{API}/validatedesign", json=GOOD)
    http.post(f"{API}/nodefilter", json=[])
    assert drydock.select_nodes(DESIGN, [Selector(node_tags=("t",))]) == frozenset()


def test_names_that_were_not_asked_for_are_not_believed(
    http: responses.RequestsMock, drydock: DrydockProvisioner
) -> None:
    http.post(f"{API}/validatedesign", json=GOOD)
    http.post(f"{API}/nodefilter", json=["n1", "n7"])
    with pytest.raises(ProvisionerProtocolError, match="n7"):
        drydock.select_nodes(DESIGN, [Selector(node_names=("n1", "n2")), Selector(node_names=("n3",))])
