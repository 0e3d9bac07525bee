"""Addresses of provisioners: which are taken, and what a server is called in messages."""

from __future__ import annotations

import pytest

from provisioner_client.urls import checked_url, server_of


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
