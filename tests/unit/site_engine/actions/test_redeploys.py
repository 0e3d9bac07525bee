"""How many deployed nodes an update may redeploy: the settings of the site, and their override."""

from __future__ import annotations

import pytest

from site_engine.admission import Ground, judge_parameters, judge_redeploys
from site_engine.kinds import KINDS, Override
from site_engine.parameters import ActionParameters
from strategy_lib.parsing.site_settings import DEFAULT_SETTINGS, SiteSettings

UPDATE = KINDS["update_site"]


def names(number: int) -> list[str]:
    return [f"n{each:02}" for each in range(number)]


@pytest.mark.parametrize(
    ("redeploy", "deployed", "settings", "refused"),
    [
        (0, 0, DEFAULT_SETTINGS, False),
        (5, 5, DEFAULT_SETTINGS, False),
        (6, 30, DEFAULT_SETTINGS, False),
        (6, 29, DEFAULT_SETTINGS, True),
        (20, 100, DEFAULT_SETTINGS, False),
        (21, 100, DEFAULT_SETTINGS, True),
        (1, 20, SiteSettings(redeploy_percent=0, redeploy_nodes=0), True),
        (20, 20, SiteSettings(redeploy_percent=100), False),
    ],
)
def test_rule_37_above_both_bounds_it_is_refused(
    redeploy: int, deployed: int, settings: SiteSettings, refused: bool
) -> None:
    found = judge_redeploys(UPDATE, ActionParameters(), settings, names(redeploy), names(deployed))
    assert [each.ground for each in found] == ([Ground.REDEPLOYS] if refused else [])


def test_rule_37_its_own_override_sets_it_aside_and_force_does_not() -> None:
    def is_overridden(parameters: ActionParameters) -> bool:
        (refusal,) = judge_redeploys(UPDATE, parameters, DEFAULT_SETTINGS, names(20), names(20))
        assert "update_site: it would redeploy 20 of 20 deployed nodes, more than 20 %: n00, n01" in refusal.text
        assert ("repeat this with many_redeploys=true (--many-redeploys)" in refusal.text) != refusal.is_overridden
        return refusal.is_overridden

    assert not is_overridden(ActionParameters())
    assert not is_overridden(ActionParameters(force=True))
    assert not is_overridden(ActionParameters(overrides=frozenset({Override.ALLOW_REDEPLOY})))
    assert is_overridden(ActionParameters(overrides=frozenset({Override.MANY_REDEPLOYS})))


def test_what_is_pruned_counts_too() -> None:
    (refusal,) = judge_redeploys(
        UPDATE, ActionParameters(), DEFAULT_SETTINGS, names(3), names(17), ["old1", "old2", "x"]
    )
    assert "it would redeploy and destroy 6 of 20 deployed nodes, more than 20 %: n00, n01, n02, old1, old2, x" in (
        refusal.text
    )
    (pruned,) = judge_redeploys(
        UPDATE, ActionParameters(), DEFAULT_SETTINGS, [], names(4), ["a", "b", "c", "d", "e", "f"]
    )
    assert "it would destroy 6 of 10" in pruned.text


def test_prune_is_for_whole_sites_alone() -> None:
    prune = frozenset({Override.PRUNE})
    assert judge_parameters(UPDATE, ActionParameters(overrides=prune)) == []
    assert not ActionParameters(force=True).allows(Override.PRUNE), "force destroys nothing"
    (refusal,) = judge_parameters(UPDATE, ActionParameters(overrides=prune, target_nodes=("a",)))
    assert refusal.text == "prune concerns the whole site: leave out target_nodes, or prune"
