"""The hint behind a name that does not exist."""

from __future__ import annotations

import pytest

from strategy_lib.did_you_mean import did_you_mean, suggestion

KNOWN = ("deploy_site", "update_site", "Control")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param("deploy_sit", "did you mean 'deploy_site'?", id="a letter is missing"),
        pytest.param("control", "did you mean 'Control'?", id="only capitals differ"),
        pytest.param("xyz", "known are deploy_site, update_site, Control", id="nothing is near: all that is known"),
        pytest.param("deploy_site" + "x" * 10_000, "known are deploy_site, update_site, Control", id="a very long one"),
    ],
)
def test_the_nearest_known_name_is_offered(name: str, hint: str) -> None:
    assert did_you_mean(name, KNOWN) == hint


def test_several_can_be_offered_and_stand_without_quotes_where_documents_have_none() -> None:
    assert did_you_mean("deplay_site", KNOWN, most=2, quoted=False) == "did you mean deploy_site or update_site?"
    assert suggestion("deplay_site", KNOWN[:1]) == " Did you mean deploy_site?"


def test_what_else_is_said_is_the_caller_s() -> None:
    assert did_you_mean("xyz", KNOWN, "name a kind") == "name a kind"
    assert suggestion("xyz", KNOWN) == ""
