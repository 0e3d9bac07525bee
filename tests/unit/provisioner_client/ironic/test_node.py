"""A node of Ironic: whose it is, what its state means, and what stands on it."""

from __future__ import annotations

from typing import Any

import pytest

from provisioner_client.errors import ProvisionerProtocolError
from provisioner_client.ironic.limits import Limits
from provisioner_client.ironic.node import Mark, claim_of, read_node
from strategy_lib.node_condition import NodeCondition, whose

REFERENCE = "slipway-0a1b2c3d-01ARZ3NDEKTSV4RRFFQ69G5FAV-7"
CLAIM = claim_of(REFERENCE, "n1")
STRANGER = "11111111-2222-3333-4444-555555555555"


def data(state: str, **more: Any) -> dict[str, Any]:
    return {"uuid": "u1", "name": "n1", "provision_state": state, **more}


def marked(**more: Any) -> dict[str, Any]:
    return {"slipway": Mark(**{"ref": "slipway-x-2", "action": "relabel_nodes", **more}).data()}


@pytest.mark.parametrize(
    ("given", "condition", "shown"),
    [
        pytest.param(data("available"), NodeCondition.READY, "available", id="free"),
        pytest.param(
            data("active", instance_uuid=CLAIM, extra=marked(ref=REFERENCE)),
            NodeCondition.DEPLOYED,
            "active",
            id="our claim, by the task's reference",
        ),
        pytest.param(
            data("available", instance_uuid=CLAIM, extra=marked(ref=REFERENCE)),
            NodeCondition.ALLOCATED,
            "available",
            id="our claim, and nothing deployed yet",
        ),
        pytest.param(
            data("active", instance_uuid=CLAIM, extra=marked(claim=REFERENCE)),
            NodeCondition.DEPLOYED,
            "active",
            id="our claim, and a later task",
        ),
        pytest.param(
            data("active", instance_uuid=CLAIM, extra=marked(claim=REFERENCE, rebuild="0a")),
            NodeCondition.TO_REDEPLOY,
            "active, to be rebuilt",
            id="our claim, and a release that left it to be written over",
        ),
        pytest.param(
            data("active", instance_uuid=CLAIM, extra=marked(claim=REFERENCE, rebuild="0a", step="rebuild", since="")),
            NodeCondition.TO_REDEPLOY,
            "active, to be rebuilt",
            id="our claim, and a rebuild that was not taken yet",
        ),
        pytest.param(
            data("active", instance_uuid=CLAIM, extra=marked(claim=REFERENCE, rebuild="0a", step="rebuild", since="x")),
            NodeCondition.DEPLOYED,
            "active",
            id="our claim, and a rebuild that is over",
        ),
        pytest.param(
            data("active", instance_uuid=STRANGER, extra=marked(claim=REFERENCE, rebuild="0a")),
            NodeCondition.OTHER,
            f"active, owned by instance {STRANGER}",
            id="it changed hands while it was to be rebuilt",
        ),
        pytest.param(
            data("active", instance_uuid=CLAIM),
            NodeCondition.OTHER,
            f"active, owned by instance {CLAIM}",
            id="our claim, and nothing that proves it",
        ),
        pytest.param(
            data("active", instance_uuid=STRANGER, extra=marked(ref=REFERENCE)),
            NodeCondition.OTHER,
            f"active, owned by instance {STRANGER}",
            id="it changed hands",
        ),
        pytest.param(
            data("available", instance_uuid=STRANGER),
            NodeCondition.OTHER,
            f"available, owned by instance {STRANGER}",
            id="an allocation",
        ),
        pytest.param(
            data("active"), NodeCondition.OTHER, "active, owned by somebody without an instance", id="by hand"
        ),
        pytest.param(
            data("active", instance_uuid=STRANGER, extra={"slipway_adopt": STRANGER.upper()}),
            NodeCondition.DEPLOYED,
            "active",
            id="a person gave it to us",
        ),
        pytest.param(
            data("available", maintenance=True, maintenance_reason="a fan, owned by bob"),
            NodeCondition.UNFIT,
            "available, in maintenance: a fan owned by bob",
            id="put aside",
        ),
        pytest.param(
            data("manageable", maintenance=True, fault="power failure"),
            NodeCondition.UNFIT,
            "manageable, in maintenance: power failure",
            id="put aside by Ironic itself",
        ),
        pytest.param(
            data("clean failed", maintenance=True, fault="clean failure", maintenance_reason="step x"),
            NodeCondition.FAILED_COMMISSIONING,
            "clean failed",
            id="a failed cleaning is no putting aside",
        ),
        pytest.param(data("manageable", retired=True), NodeCondition.UNFIT, "manageable, retired", id="retired"),
        pytest.param(data("melting"), NodeCondition.OTHER, "melting", id="a state that is not known"),
        pytest.param(data("deploy failed", instance_uuid=STRANGER), NodeCondition.OTHER, None, id="a stranger's"),
    ],
)
def test_what_a_state_means_and_whose_it_is(given: dict[str, Any], condition: NodeCondition, shown: str | None) -> None:
    node = read_node(given)
    assert node.condition is condition
    assert shown is None or node.shown == shown
    assert bool(whose(node.shown)) == bool(node.stranger)


def test_a_claim_is_of_one_task_and_one_node() -> None:
    others = {claim_of(REFERENCE, "n2"), claim_of(f"{REFERENCE}1", "n1"), claim_of("", f"{REFERENCE} n1")}
    assert CLAIM not in others
    assert claim_of(REFERENCE, "n1") == CLAIM == "fa88cb55-6241-5022-a7d1-1763a457d37c"


def test_the_list_has_what_ironic_says_of_power_and_size() -> None:
    ours = {"instance_uuid": CLAIM, "extra": marked(ref=REFERENCE), "power_state": "power off"}
    node = read_node(data("active", **ours, properties={"cpus": "8", "memory_mb": 4096}))
    listed = node.listed()
    assert (listed.power_state, listed.cores, listed.memory, listed.key) == ("off", 8, 4096, "u1")
    assert listed.can_power_on
    assert not read_node(data("active", **ours, maintenance=True)).can_power_on
    assert not read_node(data("active", power_state="power off")).can_power_on
    assert read_node(data("available", power_state="error")).listed().power_state is None


@pytest.mark.parametrize("extra", [{"slipway": "x"}, {"slipway": {"ref": 1, "action": "x"}}, {"slipway": {}}, None, []])
def test_a_mark_that_cannot_be_read_is_none(extra: object) -> None:
    assert read_node(data("available", extra=extra)).mark is None


def test_a_mark_is_read_as_it_was_written() -> None:
    mark = Mark(REFERENCE, "deploy_nodes", "active", at="2026-01-01T00:00:00+00:00", claim=REFERENCE)
    assert read_node(data("available", extra={"slipway": mark.data()})).mark == mark


def test_what_is_no_node() -> None:
    wrong: object
    for wrong in (None, [], {"name": "n1"}):
        with pytest.raises(ProvisionerProtocolError, match="no node"):
            read_node(wrong)


def test_a_time_stamp_without_a_zone_is_of_utc() -> None:
    node = read_node(data("available", provision_updated_at="2026-01-01T00:00:00"))
    assert node.provision_updated_at is not None
    assert node.provision_updated_at.isoformat() == "2026-01-01T00:00:00+00:00"
    assert read_node(data("available", provision_updated_at="soon")).provision_updated_at is None


@pytest.mark.parametrize(
    ("limits", "said", "node", "is_ours"),
    [
        (Limits(conductor_group="FRA1"), "conductor group fra1", {"conductor_group": "fra1"}, True),
        (Limits(owner="Alice"), "owner Alice", {"owner": "alice"}, False),
        (Limits(owner="alice"), "owner alice", {"owner": None}, False),
        (
            Limits(resource_class="a", extra_key="site", extra_value="1"),
            "resource class a and extra.site 1",
            {"resource_class": "a", "extra": {"site": 1}},
            True,
        ),
        (Limits(extra_key="site", extra_value="1"), "extra.site 1", {"extra": {"site": "2"}}, False),
        (Limits(extra_key="site", extra_value="1"), "extra.site 1", {}, False),
        (Limits(lessee="bob", shard="s1"), "lessee bob and shard s1", {"lessee": "bob", "shard": "s2"}, False),
    ],
)
def test_which_nodes_are_the_site_s(limits: Limits, said: str, node: dict[str, Any], is_ours: bool) -> None:
    assert str(limits) == said
    assert limits.allow(node) is is_ours


def test_a_new_node_is_one_of_the_site_s() -> None:
    limits = Limits(conductor_group="fra1", shard="s1", extra_key="site", extra_value="1")
    assert limits.new_node == {"conductor_group": "fra1", "shard": "s1", "extra": {"site": "1"}}
    assert limits.allow(limits.new_node)
    assert limits.filters == {"conductor_group": "fra1", "shard": "s1"}


@pytest.mark.parametrize("given", [{}, {"extra_key": "site"}, {"extra_value": "1", "owner": "a"}])
def test_never_all_nodes_by_accident(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"must limit the site's part of Ironic|belong together"):
        Limits(**given)
