"""What of a design's address may stand in a text."""

from __future__ import annotations

import pytest

from provisioner_client.designs import HiddenAddress

TOKEN = "cAnArY-0123456789-abcd"
HTTP = f"https://slipway.test:8443/slipway/d/{TOKEN}"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (HTTP, "the design at https://slipway.test:8443"),
        (f"http://Slipway.test/d/{TOKEN}", "the design at http://slipway.test"),
        (f"http://[::1]:8080/d/{TOKEN}", "the design at http://[::1]:8080"),
        (f"http://ann:secret@slipway.test/d/{TOKEN}", "the design at http://slipway.test"),
        (f"deckhand+http://deckhand.test:9000/{TOKEN}", "the design at deckhand+http://deckhand.test:9000"),
        ("file:///srv/site.yaml", "the design"),
        ("http://slipway.test:nonsense/d", "the design"),
        (TOKEN, "the design"),
        ("", "the design"),
    ],
)
def test_what_is_shown_is_at_most_the_server(address: str, shown: str) -> None:
    assert HiddenAddress(address).shown == shown


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (f"cannot resolve {HTTP}!", "cannot resolve the design at https://slipway.test:8443!"),
        (f"with url: /slipway/d/{TOKEN} (Caused", "with url: (the design) (Caused"),
        (f"design {TOKEN} and {TOKEN}", "design *** and ***"),
        (f"cut short {HTTP[:-3]}", "cut short https://slipway.test:8443/slipway/d/***"),
        (f"{HTTP[:-9]}… and more", "https://slipway.test:8443/slipway/d/***… and more"),
        (f"quoted https%3A%2F%2Fslipway.test%2F{TOKEN}", "quoted https%3A%2F%2Fslipway.test%2F***"),
        ("nothing of it", "nothing of it"),
        ("", ""),
    ],
)
def test_it_is_taken_out_of_a_text(text: str, hidden: str) -> None:
    address = HiddenAddress(HTTP)
    assert address.hide(text) == hidden
    assert address.hide(hidden) == hidden, "once is enough"


@pytest.mark.parametrize("cut", range(len("https://slipway.test:8443/slipway/d/") + 8, len(HTTP) + 1))
def test_not_eight_characters_of_the_secret_are_left_wherever_it_is_cut(cut: int) -> None:
    assert TOKEN[:8] not in HiddenAddress(HTTP).hide(f"Unable to read {HTTP[:cut]}")


def test_a_query_is_as_secret_as_a_path() -> None:
    address = HiddenAddress(f"http://slipway.test/d?site=a&token={TOKEN}")
    assert address.hide(f"token {TOKEN}, site a") == "token ***, site a"


def test_a_file_is_hidden_whole_and_its_words_are_not_secrets() -> None:
    address = HiddenAddress("file:///srv/a-long-name-of-a-site.yaml")
    assert address.hide("no file:///srv/a-long-name-of-a-site.yaml") == "no the design"
    assert address.hide("no such file: /srv/a-long-name-of-a-site.yaml") == "no such file: (the design)"
    assert address.hide("a-long-name-of-a-site.yaml:3: bad") == "a-long-name-of-a-site.yaml:3: bad"


@pytest.mark.parametrize("address", ["", "/", "http://slipway.test", "http://slipway.test/"])
def test_an_address_without_a_path_hides_nothing(address: str) -> None:
    assert HiddenAddress(address).hide("see http://slipway.test/ and /") == "see http://slipway.test/ and /"


def test_it_does_not_show_itself() -> None:
    assert TOKEN not in repr(HiddenAddress(HTTP))
