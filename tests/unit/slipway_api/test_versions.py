"""Versions in queries, and conditions on the buffer."""

from __future__ import annotations

import pytest

from site_store import Version
from slipway_api.documents.versions import BUFFER, parse_version, two_versions
from slipway_api.http.api_errors import ApiError
from slipway_api.http.dependencies import require_match


def test_versions_by_name_and_number() -> None:
    assert parse_version("committed") is Version.COMMITTED
    assert parse_version(" 7 ") == 7
    for text in ("", "Committed", "-1", "1.0", "٣", "9" * 10):
        with pytest.raises(ApiError) as caught:
            parse_version(text)
        assert caught.value.status == 400


def test_two_versions_stand_in_the_order_of_their_making() -> None:
    assert two_versions([]) == (Version.COMMITTED, Version.BUFFER)
    for given in (["buffer", "last_site_action"], ["last_site_action,buffer"], ["buffer,last_site_action"]):
        assert two_versions(given) == (Version.LAST_SITE_ACTION, Version.BUFFER)
    for wrong in (["buffer"], ["buffer", "buffer"], ["buffer,"], ["buffer", "1"], ["a", "b", "c"], [""]):
        with pytest.raises(ApiError):
            two_versions(wrong)


@pytest.mark.parametrize("header", ['"7"', "*", '"1", "7"', ' "7" '])
def test_a_condition_that_is_met(header: str) -> None:
    assert require_match(header, lambda: 7, BUFFER) == 7


@pytest.mark.parametrize("header", ['"6"', "7", 'W/"7"', "", '"*"', '"77"'])
def test_a_condition_that_is_not_met(header: str) -> None:
    with pytest.raises(ApiError) as caught:
        require_match(header, lambda: 7, BUFFER)
    assert caught.value.status == 412
    # Both versions: the one that was meant, and the one that there is.
    assert "is at version 7 now" in caught.value.message
    assert header.strip().replace('"', "") in caught.value.message
    assert caught.value.headers == {"ETag": '"7"'}


def test_no_condition() -> None:
    assert require_match(None, lambda: 7, BUFFER) is None
