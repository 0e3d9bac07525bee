"""What goes over the wire to Slipway's API."""

import json

import pytest
import responses

from api_client.session import ApiError, ApiRefused, ApiSession
from api_client.slipway import UNCHANGED, SlipwayClient
from tests.unit.api_client.conftest import URL

PROVISIONER = f"{URL}/slipway/api/v1.0/provisioner"


def test_a_provisioner_that_can_be_used(wire: responses.RequestsMock, session: ApiSession) -> None:
    wire.get(PROVISIONER, json={"message": "Drydock answers"})
    assert SlipwayClient(session).provisioner_problem("alpha") is None


@pytest.mark.parametrize(
    ("status", "reason"),
    [(503, "Provisioner unreachable"), (502, "Provisioner"), (503, "Provisioner not configured")],
)
def test_what_is_wrong_with_a_provisioner(
    wire: responses.RequestsMock, session: ApiSession, status: int, reason: str
) -> None:
    wire.get(PROVISIONER, json={"message": "Drydock does not answer", "reason": reason}, status=status)
    assert SlipwayClient(session).provisioner_problem("alpha") == "Drydock does not answer"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (403, '{"message": "no", "reason": "Forbidden"}'),
        (503, '{"message": "the database is away", "reason": "Service Unavailable"}'),
        (503, '{"message": "Airflow does not answer", "reason": "Airflow unreachable"}'),
        (503, '{"message": "looked up in vain", "reason": "Connection unknown"}'),
        (503, '{"message": "a proxy\'s"}'),
        (502, "<html><body>502 Bad Gateway</body></html>"),
        (503, '["Provisioner"]'),
        (503, '{"reason": ["Provisioner"]}'),
    ],
)
def test_an_error_of_the_api_says_nothing_of_the_provisioner(
    wire: responses.RequestsMock, session: ApiSession, status: int, body: str
) -> None:
    wire.get(PROVISIONER, body=body, status=status)
    with pytest.raises(ApiRefused, match=f"HTTP {status}"):
        SlipwayClient(session).provisioner_problem("alpha")


API = f"{URL}/slipway/api/v1.0"


def newest(wire: responses.RequestsMock, *revisions: dict[str, object]) -> None:
    wire.get(f"{API}/revisions", json=list(revisions))


def test_a_refused_design_names_every_error(wire: responses.RequestsMock, session: ApiSession) -> None:
    newest(wire)
    wire.post(f"{API}/configdocs/design", json={}, status=201, headers={"ETag": '"1"'})
    messages = [{"message": "design:3: bad", "error": True}, {"message": "design:9: worse", "error": True}]
    warning = {"message": "design:4: odd", "error": False}
    wire.post(
        f"{API}/commitconfigdocs",
        json={"message": "Validations failed", "details": {"messageList": [*messages, warning]}},
        status=400,
    )
    with pytest.raises(ApiError) as caught:
        SlipwayClient(session).commit("alpha", "a: b")
    assert str(caught.value) == "Validations failed\n  design:3: bad\n  design:9: worse"


def test_a_design_is_loaded_as_it_is_and_exactly_that_is_committed(
    wire: responses.RequestsMock, session: ApiSession
) -> None:
    newest(wire)
    loaded = wire.post(f"{API}/configdocs/design", json={}, status=201, headers={"ETag": '"7"'})
    wire.post(f"{API}/commitconfigdocs", json={"site": "alpha", "revision": 3, "digest": "d"})
    revision = SlipwayClient(session).commit("alpha", "name: Zoë")
    assert (revision.number, revision.created) == (3, True)
    request = loaded.calls[0].request
    assert (request.body, request.headers["Content-Type"]) == ("name: Zoë".encode(), "application/x-yaml")
    assert request.params == {"site": "alpha", "buffermode": "replace", "empty-collection": "false"}
    assert wire.calls[-1].request.headers["If-Match"] == '"7"'


@pytest.mark.parametrize("others", [[], ["extra"]])
def test_a_design_that_is_there_already_is_not_loaded_again_and_committed_where_others_go(
    wire: responses.RequestsMock, session: ApiSession, others: list[str]
) -> None:
    held = [{"name": name, "digest": "keyed"} for name in ("design", *others)]
    newest(wire, {"revision": 4, "digest": "d", "collections": held})
    for other in others:
        wire.post(f"{API}/configdocs/{other}", json={}, status=201, headers={"ETag": '"1"'})
        wire.post(f"{API}/commitconfigdocs", json={"revision": 5, "digest": "d"})
    wire.post(f"{API}/configdocs/design", json={"message": "as it is", "reason": UNCHANGED}, status=400)
    revision = SlipwayClient(session).commit("alpha", "name: Zoë")
    assert (revision.number, revision.created) == ((5, True) if others else (4, False))


def test_a_design_takes_the_place_of_all_other_collections(wire: responses.RequestsMock, session: ApiSession) -> None:
    held = [{"name": "design", "digest": "old"}, {"name": "extra", "digest": "e"}]
    newest(wire, {"revision": 4, "digest": "d", "collections": held})
    removed = wire.post(f"{API}/configdocs/extra", json={}, status=201, headers={"ETag": '"1"'})
    loaded = wire.post(f"{API}/configdocs/design", json={}, status=201, headers={"ETag": '"2"'})
    wire.post(f"{API}/commitconfigdocs", json={"revision": 5, "digest": "d", "details": {"messageList": []}})
    SlipwayClient(session).commit("alpha", "name: Zoë")
    sent = [answer.calls[0].request.params for answer in (removed, loaded)]
    assert [(each["buffermode"], each["empty-collection"]) for each in sent] == [
        ("replace", "true"),
        ("append", "false"),
    ]
    assert wire.calls[-1].request.headers["If-Match"] == '"2"'


def test_an_action_is_created_with_a_marker(wire: responses.RequestsMock, session: ApiSession) -> None:
    answer = {
        "id": "A" * 26,
        "run_id": "alpha__" + "A" * 26,
        "name": "deploy_site",
        "state": "pending",
        "context_marker": "m",
    }
    created = wire.post(f"{API}/actions", json=answer, status=201)
    action = SlipwayClient(session).create_action("alpha", "deploy_site", {"force": True}, marker="m")
    assert (action.id, action.is_over) == ("A" * 26, False)
    request = created.calls[0].request
    assert request.headers["X-Context-Marker"] == "m"
    assert json.loads(request.body) == {"name": "deploy_site", "parameters": {"force": True}}
    assert request.params == {"site": "alpha", "allow-intermediate-commits": "false"}


def test_an_action_without_a_report_has_none(wire: responses.RequestsMock, session: ApiSession) -> None:
    path = f"{URL}/slipway/api/v1.0/actions/r%2F1/report"
    wire.get(path, json={"message": "unknown"}, status=404)
    wire.get(path, json={"verdict": "success"})
    assert SlipwayClient(session).report("r/1") is None
    assert SlipwayClient(session).report("r/1") == {"verdict": "success"}
