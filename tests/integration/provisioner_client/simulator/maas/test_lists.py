"""The list of machines and its filters: what is OR, what is AND, what is refused, and what an empty value means."""

from __future__ import annotations

import json

import pytest

from tests.integration.provisioner_client.simulator.maas.conftest import Admin
from tests.support.maas_calls import MaasCaller

ALL = ["m0001", "m0002", "m0003"]


def _tag(maas: MaasCaller, name: str, *machines: str) -> None:
    assert maas.post("tags/", name=name).status == 200
    maas.post(f"tags/{name}/", "update_nodes", add=[maas.machine(one)["system_id"] for one in machines])


def test_repeated_values_are_or_and_filters_are_and(maas: MaasCaller, admin: Admin) -> None:
    admin("POST", "nodes/m0002", {"status": "Deployed", "owner": "alice", "agent_name": "agent"})
    one = maas.machine("m0001")["system_id"]
    assert maas.machines(hostname=["m0001", "m0003"]) == ["m0001", "m0003"]
    assert maas.machines(hostname=["m0001", "m0002"], status="deployed") == ["m0002"]
    assert maas.machines(status=["new", "deployed"]) == ALL
    assert maas.machines(id=one) == maas.machines(system_id=one) == ["m0001"]
    assert maas.machines(owner="alice") == maas.machines(agent_name="agent") == maas.machines(power_state="on")
    assert maas.machines(not_owner="alice") == maas.machines(not_id=maas.machine("m0002")["system_id"])
    assert maas.machines(not_status="deployed") == ["m0001", "m0003"]
    assert maas.machines(arch="amd64") == maas.machines(domain="maas") == ALL


def test_tags_are_and(maas: MaasCaller) -> None:
    _tag(maas, "red", "m0001", "m0002")
    _tag(maas, "big", "m0002", "m0003")
    assert maas.machines(tags=["red", "big"]) == ["m0002"]
    assert maas.machines(not_tags="red") == ["m0003"]
    assert [one["hostname"] for one in maas.get("tags/red/", "machines").data] == ["m0001", "m0002"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("zone", "No such zone"),
        ("pool", "No such pool"),
        ("tags", "No such tag"),
        ("owner", "No such owner: 'nothing'."),
        ("mac_address", "'nothing' is not a valid MAC address."),
        ("arch", "Architecture not recognised."),
        ("power_state", "Select a valid choice. nothing is not one of the available choices."),
        ("hostnames", "No such constraint."),
        ("limit", "No such constraint."),
        ("not_in_zone", "No such zone"),
        ("status", "not one of the available choices"),
    ],
)
def test_what_does_not_exist_is_400(maas: MaasCaller, name: str, said: str) -> None:
    answer = maas.wrongly.get("machines/", None, **{name: "nothing"})
    assert answer.status == 400
    assert answer.content_type == "application/json"
    assert said in answer.text
    assert f'{{"{name}": [' in answer.text


@pytest.mark.parametrize("status", ["4", "Ready", "Failed deployment"])
def test_a_status_is_asked_for_by_its_label_alone(maas: MaasCaller, status: str) -> None:
    assert maas.get("machines/", status=status).status == 400


def test_a_hostname_is_the_short_one(maas: MaasCaller) -> None:
    assert maas.machine("m0001")["fqdn"] == "m0001.maas"
    assert maas.machines(hostname="m0001.maas") == []


@pytest.mark.parametrize("name", ["hostname", "id", "system_id", "agent_name", "domain"])
def test_a_name_that_nobody_has_finds_nothing(maas: MaasCaller, name: str) -> None:
    assert maas.machines(**{name: "nobody"}) == []


@pytest.mark.parametrize("name", ["tags", "not_tags", "not_hostname", "not_id", "not_owner", "not_arch", "op"])
def test_an_empty_tag_and_what_nobody_has_mean_all_machines(maas: MaasCaller, name: str) -> None:
    assert maas.wrongly.machines(**{name: ""}) == ALL


@pytest.mark.parametrize("name", ["hostname", "id", "system_id", "domain"])
def test_an_empty_name_means_no_machine(maas: MaasCaller, name: str) -> None:
    assert maas.wrongly.machines(**{name: ""}) == []


def test_an_empty_agent_name_is_that_of_those_without(maas: MaasCaller, admin: Admin) -> None:
    admin("POST", "nodes/m0002", {"agent_name": "agent"})
    assert maas.wrongly.machines(agent_name="") == ["m0001", "m0003"]
    assert maas.wrongly.machines(not_agent_name="") == ["m0002"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("zone", "No such zone(s): ."),
        ("pool", "No such pool(s): ."),
        ("not_in_pool", "Enter a valid value."),
        ("owner", "No such owner: ''."),
        ("status", "Select a valid choice.  is not one of the available choices."),
        ("mac_address", "'' is not a valid MAC address."),
    ],
)
def test_an_empty_value_of_what_maas_looks_up_is_refused(maas: MaasCaller, name: str, said: str) -> None:
    answer = maas.wrongly.get("machines/", **{name: ""})
    assert (answer.status, json.loads(answer.text)) == (400, {name: [said]})


def test_a_filter_that_is_not_played_is_refused_and_not_passed_over(maas: MaasCaller) -> None:
    answer = maas.get("machines/", fabrics="fabric-0")
    assert (answer.status, "does not play" in answer.text) == (400, True)


def test_one_machine_and_none(maas: MaasCaller) -> None:
    system_id = maas.machine("m0001")["system_id"]
    assert maas.get(f"machines/{system_id}/").data == maas.machine("m0001")
    answer = maas.get("machines/zzzzzz/")
    assert (answer.status, answer.text) == (404, "No Machine matches the given query.")
    assert maas.get(f"machines/{system_id}/", "query_power_state").data == {"state": "off"}
    assert set(maas.get("machines/", "power_parameters", id=system_id).data) == {system_id}


def test_a_machine_is_moved_renamed_and_deleted(maas: MaasCaller) -> None:
    where = f"machines/{maas.machine('m0001')['system_id']}/"
    assert maas.call("PUT", where, pool="site-1").status == 400
    assert "does not change" in maas.call("PUT", where, swap_size="1").text
    assert maas.post("resourcepools/", name="site-1").status == 200
    assert maas.post("zones/", name="r1").status == 200
    moved = maas.call("PUT", where, pool="site-1", zone="r1", hostname="n1").data
    assert (moved["pool"]["name"], moved["zone"]["name"], moved["fqdn"]) == ("site-1", "r1", "n1.maas")
    assert maas.machines(pool="site-1") == maas.machines(zone="r1") == ["n1"]
    assert maas.call("PUT", where, hostname="m0002").status == 400
    assert "disallowed characters: 'x y'" in maas.call("PUT", where, hostname="x y").text
    assert [one["name"] for one in maas.get("resourcepools/").data] == ["default", "site-1"]
    assert [one["name"] for one in maas.get("zones/").data] == ["default", "r1"]
    assert maas.call("DELETE", where).status == 204
    assert maas.machines() == ["m0002", "m0003"]
