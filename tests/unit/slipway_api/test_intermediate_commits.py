"""Revisions that an action on a whole site would pass over, and the sentence about them."""

from __future__ import annotations

import pytest

from slipway_api.documents.intermediate_commits import refusal, skipped_commits

ALLOW = (
    "If that is meant, repeat this with allow-intermediate-commits=true "
    "(on the command line --allow-intermediate-commits)"
)


@pytest.mark.parametrize(
    ("last", "revision", "skipped"),
    [(None, 1, []), (None, 3, [1, 2]), (1, 2, []), (1, 4, [2, 3]), (4, 4, []), (4, 2, [])],
)
def test_what_is_passed_over(last: int | None, revision: int, skipped: list[int]) -> None:
    assert list(skipped_commits(last, revision)) == skipped


@pytest.mark.parametrize(
    ("last", "revision", "why"),
    [
        (
            None,
            2,
            "there was no action on all of site lab7 yet, so revision 1 was never deployed, "
            "and revision 2 would pass it over.",
        ),
        (
            1,
            4,
            "the last action on all of site lab7 was for revision 1; revisions 2, 3 were committed since then and "
            "never deployed, and revision 4 would pass them over.",
        ),
    ],
)
def test_the_refusal_says_what_happened_and_how_to_go_on(last: int | None, revision: int, why: str) -> None:
    assert refusal("lab7", last, skipped_commits(last, revision), revision) == f"{why} {ALLOW}"


def test_of_many_the_first_and_the_last_are_named() -> None:
    assert "so revisions 1 to 99 were never deployed" in refusal("lab7", None, skipped_commits(None, 100), 100)
