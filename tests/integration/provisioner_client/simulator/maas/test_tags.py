"""Tags: made once, by the first; on machines by one request; and what they say to the detector of double work."""

from __future__ import annotations

import pytest

from tests.integration.provisioner_client.simulator.maas.conftest import BOB, Admin
from tests.support.maas_calls import MaasCaller


def test_a_tag_is_made_once(maas: MaasCaller) -> None:
    made = maas.post("tags/", name="slipway-a-1", comment='{"action": "deploy"}').data
    assert (made["name"], made["comment"]) == ("slipway-a-1", '{"action": "deploy"}')
    again = maas.post("tags/", name="slipway-a-1", comment="other")
    assert (again.status, "already exists" in again.text) == (400, True)
    assert maas.get("tags/slipway-a-1/").data == made
    assert maas.call("PUT", "tags/slipway-a-1/", comment="new").data["comment"] == "new"
    assert [one["name"] for one in maas.get("tags/").data] == ["slipway-a-1"]
    assert maas.call("DELETE", "tags/slipway-a-1/").status == 204
    gone = maas.get("tags/slipway-a-1/")
    assert (gone.status, gone.text) == (404, "No Tag matches the given query.")
    assert maas.post("tags/", name="slipway-a-1").status == 200


def test_what_a_definition_would_do_is_refused_and_not_passed_over(maas: MaasCaller) -> None:
    maas.post("tags/", name="t")
    answers = [maas.post("tags/", name="u", definition="//x"), maas.call("PUT", "tags/t/", definition="//x")]
    answers.append(maas.call("PUT", "tags/t/", name="v"))
    assert [one.status for one in answers] == [400, 400, 400]
    assert all("The simulator does not" in one.text for one in answers)
    assert maas.post("tags/t/", "rebuild").data == {"rebuilding": "t"}
    assert maas.post("tags/u/", "rebuild").status == 404
    assert maas.as_user(BOB).post("tags/t/", "rebuild").status == 403


@pytest.mark.parametrize("name", ["", "two words", "a.b", "a/b", "ä"])
def test_names(maas: MaasCaller, name: str) -> None:
    answer = maas.post("tags/", name=name)
    assert (answer.status, answer.content_type) == (400, "application/json")


def test_update_nodes_drops_ids_that_maas_does_not_know_without_a_word(maas: MaasCaller) -> None:
    ids = [maas.machine(name)["system_id"] for name in ("m0001", "m0002")]
    maas.post("tags/", name="t")
    assert maas.post("tags/t/", "update_nodes", add=[*ids, "zzzzzz"]).data == {"added": 2, "removed": 0}
    assert maas.machines(tags="t") == ["m0001", "m0002"]
    assert maas.post("tags/t/", "update_nodes", add=ids[:1], remove=[*ids, "zzzzzz"]).data["removed"] == 2
    assert maas.machines(tags="t") == []
    assert maas.post("tags/u/", "update_nodes", add=ids).status == 404
    assert maas.post("tags/t/", "update_nodes", add=ids, definition="//x").status == 409


def test_a_deleted_tag_is_on_no_machine(maas: MaasCaller) -> None:
    maas.post("tags/", name="t")
    maas.post("tags/t/", "update_nodes", add=[maas.machine("m0001")["system_id"]])
    maas.call("DELETE", "tags/t/")
    assert maas.machine("m0001")["tag_names"] == []
    assert maas.get("machines/", tags="t").status == 400


def test_only_administrators_change_tags(maas: MaasCaller) -> None:
    maas.post("tags/", name="t")
    bob = maas.as_user(BOB)
    assert bob.post("tags/", name="u").status == 403
    assert bob.post("tags/t/", "update_nodes", add=["x"]).status == 403
    assert bob.get("tags/t/").status == 200


def _commission(maas: MaasCaller, *references: str) -> None:
    system_id = maas.machine("m0001")["system_id"]
    for reference in references:
        if maas.get(f"tags/{reference}/").status == 404:
            maas.post("tags/", name=reference)
        maas.post(f"tags/{reference}/", "update_nodes", add=[system_id])
        maas.act("m0001", "commission")
        maas.wait("m0001", "Ready")


@pytest.mark.parametrize(
    ("references", "found"),
    [
        (["slipway-a-1"], {}),
        (["slipway-a-1", "slipway-b-2"], {}),
        (["slipway-a-1", "slipway-a-2"], {"repeated": 1}),
        (["slipway-a-1", "slipway-a-1"], {"repeated": 1, "overlapping": 1}),
    ],
    ids=["once", "for two actions", "again in one action", "twice for one wish"],
)
def test_the_detector(maas: MaasCaller, admin: Admin, references: list[str], found: dict[str, int]) -> None:
    _commission(maas, *references)
    doubles = admin("GET", "double-submissions")
    assert {kind: len(entries) for kind, entries in doubles.items() if entries} == found


def test_the_detector_goes_by_the_comment_of_a_deploy_and_by_tags_that_were_made_twice(
    maas: MaasCaller, admin: Admin
) -> None:
    _commission(maas, "slipway-a-1")
    for _ in range(2):
        maas.act("m0001", "deploy", comment="slipway-a-2")
        maas.wait("m0001", "Deployed")
        maas.act("m0001", "release")
        maas.wait("m0001", "Ready")
    tasks = [(one["action"], one["reference"], one["nodes"], one["status"]) for one in admin("GET", "tasks")]
    assert tasks[:2] == [
        ("prepare_nodes", "slipway-a-1", ["m0001"], "complete"),
        ("deploy_nodes", "slipway-a-2", ["m0001", "m0001"], "complete"),
    ]
    (entry,) = admin("GET", "double-submissions")["overlapping"]
    assert (entry["phase"], entry["node"], entry["first"]["reference"]) == ("deploy", "m0001", "slipway-a-2")
    maas.call("DELETE", "tags/slipway-a-1/")
    maas.post("tags/", name="slipway-a-1")
    assert admin("GET", "double-submissions")["same_reference"] == [{"reference": "slipway-a-1", "created": 2}]


def test_work_that_another_action_begins_over_it_overlaps(maas: MaasCaller, admin: Admin, script: Admin) -> None:
    _commission(maas, "slipway-a-1")
    script("m0001", "deploy", "stuck")
    maas.act("m0001", "deploy", comment="slipway-a-2")
    assert maas.act("m0001", "deploy", comment="slipway-b-3").status == 409
    assert not any(admin("GET", "double-submissions").values()), "what was refused does not count"
