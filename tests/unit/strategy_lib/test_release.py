"""Rule 11: which nodes are released before they are prepared."""

from __future__ import annotations

import pytest

from strategy_lib.groups.group_plan import plan_release
from strategy_lib.node_condition import NodeCondition
from strategy_lib.outcome import REFUSED_BY_PREPARE

C = NodeCondition


@pytest.mark.parametrize(
    ("condition", "ours", "wanted", "released", "refused"),
    [
        pytest.param(C.FAILED_DEPLOYMENT, False, True, True, "", id="a failed deployment is nobody's"),
        pytest.param(C.FAILED_DEPLOYMENT, False, False, False, "release_failed: false", id="the group keeps it"),
        pytest.param(C.TO_REDEPLOY, False, True, True, "", id="what is to be written over serves nobody"),
        pytest.param(C.ALLOCATED, True, True, True, "", id="allocated by our own operation"),
        pytest.param(C.ALLOCATED, False, True, False, "somebody else's", id="allocated by somebody"),
        pytest.param(C.ALLOCATED, True, False, False, "release_failed: false", id="ours, and the group keeps it"),
        pytest.param(C.FAILED_RELEASE, True, True, True, "", id="our own release failed"),
        pytest.param(C.FAILED_RELEASE, False, True, False, "somebody else's", id="somebody's release failed"),
        *(
            pytest.param(condition, True, True, False, "", id=f"{condition} can be prepared")
            for condition in C
            if condition not in REFUSED_BY_PREPARE
        ),
    ],
)
def test_rule_11_what_is_released(
    condition: NodeCondition, ours: bool, wanted: bool, released: bool, refused: str
) -> None:
    plan = plan_release({"n1": condition}, {"n1": condition} if ours else {}, () if wanted else ("n1",))
    assert plan.release == (("n1",) if released else ())
    assert list(plan.refused) == (["n1"] if refused else [])
    assert refused in plan.refused.get("n1", "")


def test_rule_11_what_is_not_as_our_operation_left_it_may_be_somebody_elses() -> None:
    plan = plan_release({"n1": C.ALLOCATED}, {"n1": C.FAILED_RELEASE})
    assert plan.release == ()
    assert "somebody else's" in plan.refused["n1"]
