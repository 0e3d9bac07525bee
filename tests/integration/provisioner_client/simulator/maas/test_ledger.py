"""The ledger of events: ids that only grow, levels, pages in both directions, and whose events are told."""

from __future__ import annotations

import pytest

from provisioner_client.simulator.http.request import Request
from provisioner_client.simulator.maas.simulation import MaasSimulation
from tests.integration.provisioner_client.simulator.maas.conftest import Admin
from tests.support.maas_calls import MaasCaller


def _ids(maas: MaasCaller, **query: str) -> list[int]:
    return [one["id"] for one in maas.get("events/", "query", **query).data["events"]]


def _deployed(maas: MaasCaller) -> None:
    for name in ("m0001", "m0002"):
        maas.act(name, "commission")
        maas.wait(name, "Ready")
        maas.act(name, "deploy", comment="slipway-a-1")
        maas.wait(name, "Deployed")


def test_events_are_newest_first_and_nothing_is_missing_between_pages(maas: MaasCaller) -> None:
    _deployed(maas)
    ids = _ids(maas, level="DEBUG", limit="1000")
    assert ids == sorted(ids, reverse=True)
    paged, after = [], "0"
    while page := _ids(maas, level="DEBUG", limit="7", after=after):
        assert page == sorted(page, reverse=True)
        paged += page[::-1]
        after = str(page[0])
    assert paged == ids[::-1], "with after, a page has the events that follow next"
    back, before = [], str(ids[0] + 1)
    while page := _ids(maas, level="DEBUG", limit="7", before=before):
        back += page
        before = str(page[-1])
    assert back == ids


def test_the_uris_of_the_next_pages(maas: MaasCaller) -> None:
    empty = maas.get("events/", "query", level="DEBUG").data
    assert (empty["count"], empty["events"], empty["prev_uri"]) == (0, [], None)
    assert maas.get("events/", "query", after="5").data["prev_uri"].endswith("before=6")
    _deployed(maas)
    page = maas.get("events/", "query", level="DEBUG", limit="3").data
    assert page["count"] == 3
    assert page["next_uri"].endswith(f"level=DEBUG&limit=3&after={page['events'][0]['id']}")
    assert page["prev_uri"].endswith(f"level=DEBUG&limit=3&before={page['events'][-1]['id']}")


def test_what_users_asked_for_and_changes_of_status_are_told_at_level_debug_only(maas: MaasCaller) -> None:
    _deployed(maas)
    kinds = {one["type"] for one in maas.get("events/", "query", limit="1000").data["events"]}
    assert kinds == {"Performing hardware testing", "Ready", "Deployed"}
    event = maas.events("m0001")[-1]
    assert set(event) == {"username", "node", "hostname", "id", "level", "created", "type", "description"}


def test_events_of_some_machines(maas: MaasCaller) -> None:
    _deployed(maas)
    wanted = maas.machine("m0001")["system_id"]
    assert {one["node"] for one in maas.events(id=wanted)} == {wanted}
    assert {one["hostname"] for one in maas.events("m0002")} == {"m0002"}
    assert maas.events("m0003") == []
    assert len(maas.events(zone="default")) == len(maas.events())
    maas.post("resourcepools/", name="empty")
    assert maas.wrongly.events(pool="empty") == maas.wrongly.events(pool="nosuch") == []
    assert len(maas.wrongly.events(pool="default")) == len(maas.events())
    assert maas.wrongly.events(tags="nosuch") == maas.events(), "there is no such filter: all are told"
    asked = [one for one in maas.events() if one["type"].startswith("User ")]
    assert maas.events(owner="slipway") == asked
    assert {one["username"] for one in maas.events() if one not in asked} == {"unknown"}


@pytest.mark.parametrize("name", ["hostname", "id", "zone", "pool", "domain"])
def test_an_empty_filter_of_events_finds_none(maas: MaasCaller, name: str) -> None:
    _deployed(maas)
    assert maas.wrongly.events(**{name: ""}) == []
    assert maas.wrongly.get("events/", "query", mac_address="").status == 400


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"limit": "1001"}, "greater than limit: 1000"),
        ({"level": "LOUD"}, "Unrecognised log level: LOUD"),
        ({"after": "1", "before": "9"}, "both"),
        ({"after": "soon"}, "integer"),
    ],
)
def test_wrong_questions(maas: MaasCaller, query: dict[str, str], said: str) -> None:
    answer = maas.get("events/", "query", **query)
    assert answer.status == 400
    assert said in answer.text
    assert answer.content_type.startswith("text/plain")


def test_a_deleted_machine_takes_its_events_along(maas: MaasCaller) -> None:
    _deployed(maas)
    newest = maas.events()[-1]["id"]
    maas.call("DELETE", f"machines/{maas.machine('m0002')['system_id']}/")
    assert maas.events("m0002") == []
    maas.act("m0003", "commission")
    assert maas.events("m0003")[0]["id"] > newest, "ids are not used again"


def test_events_that_were_pruned_are_gone_and_their_ids_are_not_used_again(maas: MaasCaller, admin: Admin) -> None:
    _deployed(maas)
    newest = maas.events()[-1]["id"]
    assert admin("POST", "events", {"prune": True}) == {"pruned": newest}
    assert maas.events() == []
    maas.act("m0003", "commission")
    assert maas.events()[0]["id"] > newest


def test_events_that_are_hidden_are_seen_late_under_their_lower_ids(maas: MaasCaller, admin: Admin) -> None:
    admin("POST", "events", {"hide": "m0001"})
    for name in ("m0001", "m0002"):
        maas.act(name, "commission")
        maas.wait(name, "Ready")
    seen = maas.events()
    assert {one["hostname"] for one in seen} == {"m0002"}
    admin("POST", "events", {"hide": None})
    late = [one["id"] for one in maas.events() if one["hostname"] == "m0001"]
    assert late
    assert min(late) < min(one["id"] for one in seen)


def test_a_wrong_word_about_events_is_refused(simulation: MaasSimulation) -> None:
    for body in (b'{"hide": "nobody"}', b"{}"):
        answer = simulation.admin(Request("POST", "/_sim/events", "", {}, body))
        assert answer.status == 400
        assert b"prune" in answer.body
