"""The tests' own check of a simulated MAAS: what it must not be asked and answer, and what a test then says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from provisioner_client.simulator.http.answer import Answer
from provisioner_client.simulator.http.request import Request
from provisioner_client.simulator.maas.simulation import MaasSimulation
from provisioner_client.simulator.machines import MachineStatus
from tests.integration.provisioner_client.simulator.maas.conftest import Admin
from tests.support import deviations
from tests.support.maas_calls import FORM, MaasCaller, in_process
from tests.support.maas_reference import IS_HERE, Deviation, check_exchange

pytestmark = pytest.mark.skipif(not IS_HERE, reason="what is known of a real MAAS is not here")

JSON = "application/json"
FORMS = {"content-type": FORM}


def _asked(path: str, method: str = "GET", query: str = "", body: bytes = b"", **more: str) -> Request:
    return Request(
        method,
        f"/MAAS/api/2.0/{path}",
        query,
        {**FORMS, **{name.replace("_", "-"): value for name, value in more.items()}},
        body,
    )


def _json(payload: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(payload).encode(), JSON)


def _changed(text: str) -> Answer:
    event = {"id": 7, "type": "Node changed status", "description": text}
    return _json({"count": 1, "events": [event]})


EMPTY = _json([])
EVENTS = "events/op-query"


@pytest.mark.parametrize(
    ("request_", "answer", "said"),
    [
        (_asked("wonders/"), EMPTY, "openapi-subset.json has no GET /wonders/"),
        (_asked("machines/", query="op=explode"), EMPTY, "has no GET /machines/op-explode"),
        (_asked("machines/", "PATCH"), EMPTY, "has no PATCH /machines/"),
        (_asked("machines/", query="hostnames=a"), EMPTY, "no parameter hostnames of MachinesHandler_read"),
        (_asked(EVENTS, query="pool=a"), EMPTY, "no parameter pool of EventsHandler_query"),
        (_asked("machines/", query="pool=&hostname=a"), EMPTY, "an empty value is refused, or means none"),
        (_asked("machines/a/op-commission", "POST", body=b"comment=a"), EMPTY, "no field comment of Mach"),
        (_asked("tags/", "POST", body=b"comment=a"), EMPTY, "asks for the field name of TagsHandler_create"),
        (_asked("tags/", "POST", body=b"{}", content_type=JSON), EMPTY, "MAAS ignores a body of type app"),
        (_asked("zones/"), Answer(403, b"", "text/plain"), "-> 403: ZonesHandler_read has only [200, 400, 401, 414]"),
        (_asked("zones/"), Answer(200, b"[]", "text/plain"), "answers application/json, and not text/plain"),
        (_asked("tags/a/", "DELETE"), Answer(204, b"x"), "a 204 has no body"),
        (_asked("machines/abc/op-abort", "POST"), Answer(204), "MachineHandler_abort has only"),
        (_asked("tags/a/"), _json({"tag": ["unknown"]}, 404), "a refusal is text/plain"),
        (_asked("tags/a/"), Answer(404, b"", "text/plain"), "only a 403 has an empty body"),
        (_asked("tags/", "POST", body=b"name=a"), _json("no", 400), "a list of sentences for each field"),
        (
            _asked("machines/a/op-deploy", "POST"),
            Answer(409, b"wrong state", "text/plain", (("Retry-After", "5"),)),
            "only what may be repeated has Retry-After",
        ),
        (_asked("machines/"), _json([{"hostname": "a"}]), "machine-fields.json differs in address_ttl"),
        (_asked(EVENTS), _changed("From 'New' to 'Deployed'"), "from there only: Broken, Commissioning"),
        (_asked(EVENTS), _changed("New, then Ready"), "told otherwise"),
        (_asked(EVENTS), _json({"count": 2, "events": []}), "as many events as it says"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_no_maas_is_asked_or_answers(request_: Request, answer: Answer, said: str) -> None:
    with pytest.raises(Deviation) as raised:
        check_exchange(request_, answer)
    assert said in str(raised.value)
    assert str(raised.value).startswith(f"{request_.method} {request_.path}"), "it names the request"


@pytest.mark.parametrize(
    ("field", "value"),
    [("status", 3), ("status_name", "Tired"), ("locked", 1), ("owner", 7), ("tag_names", [1]), ("zone", {"id": 1})],
)
def test_a_machine_has_the_fields_and_types_of_a_real_one(maas: MaasCaller, field: str, value: object) -> None:
    machine = maas.machine("m0001")
    check_exchange(_asked("machines/"), _json([machine]))
    with pytest.raises(Deviation, match=field.partition("_")[0]):
        check_exchange(_asked("machines/"), _json([machine | {field: value}]))


def test_a_test_may_ask_wrongly_on_purpose_but_the_answer_is_held(maas: MaasCaller) -> None:
    maas.wrongly.get("machines/", hostnames="a")
    assert deviations.take() == []
    with pytest.raises(Deviation, match="has only"):
        check_exchange(_asked("zones/", x_on_purpose="yes"), Answer(403, b"", "text/plain"))


@pytest.mark.xfail(strict=True, raises=pytest.fail.Exception, reason="it asks for what no MAAS has")
def test_a_test_fails_over_what_its_simulator_tells(maas: MaasCaller) -> None:
    maas.get("zones/", colour="red")


def test_a_change_that_maas_does_not_make_is_told_with_the_request(simulation: MaasSimulation) -> None:
    machine = simulation._park.named("m0001")
    assert machine is not None
    MaasCaller(in_process(simulation)).get("zones/")
    with simulation._store.transaction():
        simulation._park.become(machine, MachineStatus.DEPLOYED)
    (told,) = deviations.take()
    assert told.startswith("during GET /MAAS/api/2.0/zones/: m0001 went from 'New' to 'Deployed'; status-tr")


ACTIONS: dict[str, tuple[tuple[str, dict[str, str]], ...]] = {
    "prepare": (("commission", {}),),
    "deploy": (("deploy", {}),),
    "destroy": (("release", {}), ("release", {"erase": "true"})),
    "": tuple(
        (operation, {})
        for operation in (
            *("abort", "mark_broken", "mark_fixed", "test", "rescue_mode", "exit_rescue_mode"),
            "override_failed_testing",
        )
    ),
}


def test_from_no_status_does_any_action_lead_to_another_than_maas_allows(
    simulation: MaasSimulation, maas: MaasCaller, admin: Admin
) -> None:
    """Whatever becomes of it, until nothing is due any more. What is not allowed, the simulation itself tells of."""
    system_id = maas.machine("m0001")["system_id"]
    for phase, operations in ACTIONS.items():
        for behaviour in ("ok", "fail", "power", "silent") if phase else ("ok",):
            if phase:
                admin("POST", "scripts", {"node": "m0001", "phase": phase, "behaviour": behaviour})
            for status in MachineStatus:
                for operation, form in operations:
                    admin("POST", "nodes/m0001", {"status": status, "owner": "slipway", "osystem": ""})
                    maas.post(f"machines/{system_id}/", operation, **form)
                    while any(one.due is not None for one in simulation._park.all()):
                        maas.get("users/", "whoami")
                    assert deviations.take() == [], (status, operation, behaviour)
    changed = {text for kind, text in maas.ledger("m0001") if kind == "Node changed status"}
    assert len(changed) > 60, "most of what MAAS allows was seen"
