"""A task as a tag of MAAS: what stands in its comment is read again as it was, and no secret stands there."""

from __future__ import annotations

import json

import pytest

from provisioner_client.errors import ProvisionerProtocolError
from provisioner_client.maas.tasks.task_tag import Order, Settled, TaskTag, is_tag_name, read_tag

TAG = TaskTag(
    "slipway-a-1",
    "deploy_nodes",
    "0123456789abcdef",
    17,
    {
        "w1": Order("abc123", 9, "ubuntu/noble", "ga-24.04", "lvm", "commissioned", "", ephemeral=True, user_data=True),
        "w2": Order("abc124"),
    },
    {"w3": Settled(False, "MAAS has no machine w3 in pool north"), "w2": Settled(True, "", is_over=True)},
)


def test_a_task_is_read_as_it_was_written() -> None:
    assert read_tag({"name": TAG.reference, "comment": TAG.comment()}) == TAG


def test_a_task_is_read_as_earlier_versions_wrote_it() -> None:
    said = json.loads(TAG.comment())
    del said["site"]
    said["settled"] = {"w3": [False, "gone"]}
    read = read_tag({"name": TAG.reference, "comment": json.dumps(said)})
    assert (read.site, read.orders, read.settled) == ("", TAG.orders, {"w3": Settled(False, "gone")})


def test_what_was_settled_first_stays_unless_it_is_over_since() -> None:
    more = TAG.settle({"w3": Settled(True, "otherwise"), "w1": Settled(True, "nothing to do")})
    assert more.settled == {"w1": Settled(True, "nothing to do"), **TAG.settled}
    gone = Settled(False, "it is gone", is_over=True)
    assert TAG.settle({"w3": gone}).settled["w3"] == gone


def test_user_data_is_only_mentioned() -> None:
    assert json.loads(TAG.comment())["nodes"]["w1"]["user_data"] is True


@pytest.mark.parametrize(
    "data",
    [
        {"name": "ctl", "comment": ""},
        {"name": "ctl", "comment": "controllers"},
        {"name": "ctl", "comment": "[1]"},
        {"name": "ctl", "comment": TAG.comment().replace('"slipway":1', '"slipway":2')},
        {"name": "ctl", "comment": '{"slipway":1,"action":"deploy_nodes"}'},
        # Without its nodes it would be a task of the whole site, which is done.
        {"name": "ctl", "comment": '{"slipway":1,"action":"deploy_nodes","design":"d","since":1,"settled":{}}'},
        {"name": "ctl", "comment": '{"slipway":1,"action":"deploy_nodes","design":"d","since":1,"nodes":{}}'},
        {"comment": TAG.comment()},
        [],
    ],
)
def test_another_tag_is_no_task(data: object) -> None:
    with pytest.raises(ProvisionerProtocolError):
        read_tag(data)


@pytest.mark.parametrize(
    ("text", "good"), [("slipway-01J_9-17", True), ("", False), ("a b", False), ("a/b", False), ("x" * 257, False)]
)
def test_what_maas_takes_as_the_name_of_a_tag(text: str, good: bool) -> None:
    assert is_tag_name(text) is good
