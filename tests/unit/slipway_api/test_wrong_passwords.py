"""Who has to wait after wrong passwords, and who has not."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from slipway_api.http.api_errors import ApiError
from slipway_api.keystone.wrong_passwords import (
    ADDRESSES,
    AT_ONCE,
    FORGOTTEN_AFTER,
    FREE,
    LONGEST_WAIT,
    USERS,
    WrongPasswords,
    address_of,
)

HERE, THERE = "192.0.2.1", "192.0.2.2"


@dataclass
class Door:
    """Where passwords are tried, and a clock that stands still unless it is moved."""

    now: float = 5.0

    def __post_init__(self) -> None:
        self.remembered = WrongPasswords(lambda: self.now)

    def wait(self, user: str | None = "ann", address: str = HERE, *, right: bool = False, wrong: bool = True) -> int:
        """Try a password; 0 when it was looked at, else the seconds that are to be waited."""
        try:
            with self.remembered.attempt(address, user) as attempt:
                attempt.right, attempt.wrong = right, wrong and not right
        except ApiError as refused:
            return int(refused.headers["Retry-After"]) if refused.status == 429 and refused.retry else -1
        return 0

    def used_up(self, user: str | None = "ann", address: str = HERE) -> None:
        assert [self.wait(user, address) for _ in range(FREE)] == [0] * FREE


@pytest.fixture
def door() -> Door:
    return Door()


def test_the_waits_grow_up_to_the_longest(door: Door) -> None:
    door.used_up()
    waits = []
    for _ in range(9):
        waits.append(door.wait())
        door.now += waits[-1]
        assert door.wait() == 0
    assert waits == [1, 2, 4, 8, 16, 32, LONGEST_WAIT, LONGEST_WAIT, LONGEST_WAIT]


def test_the_right_password_is_refused_too_while_one_has_to_wait(door: Door) -> None:
    door.used_up()
    assert door.wait(right=True) == 1
    door.now += 1
    assert door.wait(right=True) == 0
    door.used_up()


def test_asking_while_one_has_to_wait_makes_the_wait_no_longer(door: Door) -> None:
    door.used_up()
    assert [door.wait() for _ in range(50)] == [1] * 50
    door.now += 1
    assert door.wait() == 0


def test_another_user_and_another_address_do_not_wait(door: Door) -> None:
    door.used_up()
    assert door.wait() > 0
    assert (door.wait("bob"), door.wait(address=THERE)) == (0, 0)
    assert door.wait("bob", right=True) == 0
    assert door.wait() > 0, "the good login of another user is no forgiveness"


def test_a_name_in_other_letters_is_the_same_user(door: Door) -> None:
    door.used_up("Ann ")
    assert door.wait(" aNN") == 1


def test_what_ends_without_a_judgement_does_not_count(door: Door) -> None:
    for _ in range(100):
        assert door.wait(wrong=False) == 0


def test_right_logins_at_once_do_not_wait(door: Door) -> None:
    with ExitStack() as all_at_once:
        for _ in range(AT_ONCE):
            all_at_once.enter_context(door.remembered.attempt(HERE, "ann")).right = True
        assert door.wait("bob") == 0
        assert door.wait() == 1
    assert door.wait() == 0


def test_guesses_at_once_are_no_way_around(door: Door) -> None:
    door.wait()
    with ExitStack() as all_at_once:
        for _ in range(FREE - 1):
            all_at_once.enter_context(door.remembered.attempt(HERE, "ann")).wrong = True
        assert door.wait() == 1
    assert [door.wait(), door.wait("bob")] == [1, 0]


def test_it_is_forgotten(door: Door) -> None:
    door.used_up()
    door.now += FORGOTTEN_AFTER + 1
    door.used_up()


def test_many_names_at_one_address_count_as_one_in_the_end(door: Door) -> None:
    waits = [door.wait(f"user-{number}") for number in range(USERS + FREE + 1)]
    assert waits == [0] * (USERS + FREE) + [1]
    assert door.wait("user-1") == 0, "those that are known are told apart"
    assert door.wait("user-1", THERE) == 0


@pytest.mark.parametrize("nameless", [None, "", "  "])
def test_what_has_no_readable_name_counts_at_the_address(door: Door, nameless: str | None) -> None:
    door.used_up(nameless)
    assert door.wait(None) == 1
    assert (door.wait("ann", right=True), door.wait(None, THERE)) == (0, 0)
    door.now += 1
    assert (door.wait(None, right=True), door.wait(None), door.wait(None)) == (0, 0, 2), "a right one clears nothing"


def test_the_memory_has_a_bound(door: Door) -> None:
    for number in range(ADDRESSES + 10):
        door.wait(address=f"10.0.{number // 256}.{number % 256}")
    assert len(door.remembered) == ADDRESSES
    door.now += FORGOTTEN_AFTER + 1
    door.wait(address=THERE)
    assert len(door.remembered) == 1


@pytest.mark.parametrize(
    ("host", "counted_as"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("testclient", "testclient"),
    ],
)
def test_the_address(host: str, counted_as: str) -> None:
    assert address_of({"client": (host, 1)}) == counted_as
    assert address_of({"client": None}) == ""
