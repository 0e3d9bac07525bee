"""How long to wait before a repeat, and which addresses are taken."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from provisioner_client.http_settings import RetryPolicy, checked_url, parse_retry_after, server_of

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
POLICY = RetryPolicy(attempts=5, first_wait=1, longest_wait=8, longest_retry_after=60)


@pytest.mark.parametrize(
    ("attempt", "retry_after", "chance", "seconds"),
    [
        pytest.param(1, None, 1.0, 1.0, id="first"),
        pytest.param(1, None, 0.0, 0.5, id="half of it is chance"),
        pytest.param(3, None, 1.0, 4.0, id="twice as long each time"),
        pytest.param(9, None, 1.0, 8.0, id="never longer than the longest"),
        pytest.param(10_000, None, 1.0, 8.0, id="no overflow"),
        pytest.param(1, 7.0, 0.0, 7.0, id="what was asked for"),
        pytest.param(1, 7.0, 1.0, 8.0, id="a little later, not sooner"),
        pytest.param(1, 0.0, 0.0, 0.0, id="at once when asked so"),
        pytest.param(1, 86_400.0, 0.0, 60.0, id="a day is too long"),
    ],
)
def test_wait(attempt: int, retry_after: float | None, chance: float, seconds: float) -> None:
    assert POLICY.wait(attempt, retry_after, chance) == seconds


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        pytest.param("120", 120.0, id="seconds"),
        pytest.param(" 3 ", 3.0, id="seconds with blanks"),
        pytest.param("Sat, 21 Nov 2026 12:01:30 GMT", 90.0, id="a date"),
        pytest.param("Sat, 21 Nov 2026 12:01:30", 90.0, id="a date without zone is GMT"),
        pytest.param("Fri, 20 Nov 2026 12:00:00 GMT", 0.0, id="a date that is past"),
        pytest.param("soon", None, id="nonsense"),
        pytest.param("-5", None, id="negative"),
        pytest.param("9" * 5000, 999_999_999.0, id="absurdly long"),
        pytest.param("", None, id="empty"),
        pytest.param(None, None, id="absent"),
    ],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert parse_retry_after(header, NOW) == seconds


@pytest.mark.parametrize("options", [{"attempts": 0}, {"first_wait": -1.0}, {"longest_retry_after": -1.0}])
def test_a_policy_that_makes_no_sense_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"must|cannot"):
        RetryPolicy(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("http://drydock:9000", "drydock:9000"),
        ("https://gate/drydock", "gate:443"),
        ("http://gate", "gate:80"),
        ("http://[::1]:9000", "[::1]:9000"),
    ],
)
def test_a_server_is_its_host_and_port(url: str, server: str) -> None:
    assert server_of(url) == server


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("http://h:9000/", "http://h:9000"),
        (" https://h/prefix/ ", "https://h/prefix"),
        ("http://[::1]:9000", "http://[::1]:9000"),
    ],
)
def test_url_is_kept_without_its_last_slash(given: str, kept: str) -> None:
    assert checked_url(given) == kept


@pytest.mark.parametrize(
    "url",
    ["", "h:9000", "ftp://h", "http://", "http://u:canary@h", "http://h:99999", "http://h?x=canary", "http://[canary"],
)
def test_a_url_that_cannot_be_used_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match="URL") as caught:
        checked_url(url)
    assert "canary" not in str(caught.value)
