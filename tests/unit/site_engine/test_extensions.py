"""What is registered by entry points is loaded by name, and refused where two have one name (rule 42)."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from design_rendering.policies import every_node_has_a_group
from site_engine.extensions import POLICIES, ExtensionError, installed_policies, policy_set

PLACE = "design_rendering.policies:every_node_has_a_group"


def point(name: str, value: str = PLACE) -> EntryPoint:
    return EntryPoint(name, value, POLICIES)


def test_slipways_own_policy_is_there() -> None:
    assert installed_policies().policies["default-group"] is every_node_has_a_group


def test_policies_are_loaded_and_their_set_has_a_digest_of_its_own() -> None:
    found, same, own = policy_set([point("more")]), policy_set([point("more"), point("more")]), policy_set([])
    assert set(found.policies) == {"default-group", "more"}
    assert found.digest == same.digest != own.digest


def test_rule_42_two_of_one_name_are_refused_and_both_are_named() -> None:
    with pytest.raises(ExtensionError, match="policy 'default-group' is registered by slipway and by design_rendering"):
        policy_set([point("default-group")])
    with pytest.raises(ExtensionError, match="registered by a:b of no package and by c:d of no package"):
        policy_set([point("more", "a:b"), point("more", "c:d")])


@pytest.mark.parametrize("value", ["no_such_package:policy", "design_rendering.policies:nothing", "sys:path"])
def test_what_cannot_be_used_is_named(value: str) -> None:
    with pytest.raises(ExtensionError, match=f"policy 'bad' .{value}."):
        policy_set([point("bad", value)])
