"""The document that says who is told what about a site."""

from __future__ import annotations

from typing import Any

import pytest

from strategy_lib.errors import StrategyLibError
from strategy_lib.parsing.notifications import (
    NotificationKind,
    Notifications,
    Notifier,
    Webhook,
    parse_notifications,
)

CHAT = {"name": "chat", "webhook": {"connection": "chat_hook"}}
MAIL = {
    "name": "mail",
    "events": ["verdict"],
    "notifier": {"name": "smtp", "connection": "mail", "arguments": {"to": ["ops@example.com"]}},
}


def test_a_document_says_who_is_told_what_and_how() -> None:
    read = parse_notifications({"targets": [CHAT, MAIL]})
    assert [target.name for target in read.wanting(NotificationKind.VERDICT)] == ["chat", "mail"]
    assert [target.name for target in read.wanting(NotificationKind.OWNER_BACK)] == ["chat"]
    chat, mail = read.targets
    assert chat.way == Webhook("chat_hook")
    assert mail.way == Notifier("smtp", "mail", {"to": ["ops@example.com"]})


def test_a_target_is_found_by_its_name_while_it_is_there() -> None:
    read = parse_notifications({"targets": [CHAT]})
    assert read.get("chat") == read.targets[0]
    assert read.get("mail") is None
    assert Notifications().wanting(NotificationKind.VERDICT) == ()


def test_what_was_read_can_be_written_and_read_again() -> None:
    read = parse_notifications({"targets": [CHAT, MAIL, {"name": "none", "events": [], **_hook("x")}]})
    assert parse_notifications(read.to_data()) == read


def test_changes_of_objects_have_to_be_named() -> None:
    told = {**CHAT, "events": ["objects_changed"], "objects": ["node/gw01", "network"]}
    read = parse_notifications({"targets": [CHAT, {**told, "name": "inventory"}]})
    assert [target.name for target in read.wanting(NotificationKind.OBJECTS_CHANGED)] == ["inventory"]
    assert read.targets[1].objects == {"node/gw01", "network"}
    assert parse_notifications(read.to_data()) == read


def _hook(connection: str) -> dict[str, Any]:
    return {"webhook": {"connection": connection}}


@pytest.mark.parametrize(
    ("targets", "path", "words"),
    [
        ([{"name": "a"}], "[0]", "exactly one of webhook and notifier"),
        ([{**CHAT, "notifier": {"name": "smtp"}}], "[0]", "exactly one of webhook and notifier"),
        ([CHAT, CHAT], "[0].name", "'chat' is the name of another target, too"),
        ([{**CHAT, "events": ["verdikt"]}], "[0].events[0]", "did you mean verdict?"),
        ([{"webhook": {"connection": "x"}}], "[0]", "name is missing"),
        ([{"name": "a", "webhook": {"connection": "x", "password": "secret"}}], "[0].webhook.password", "not known"),
        ([{"name": "a", "webhook": {"url": "https://x"}}], "[0].webhook.url", "not known here"),
        ([{**MAIL, "events": ["objects_changed"]}], "[0].events", "only a webhook is told of objects_changed"),
        ([{**CHAT, "objects": ["node"]}], "[0].objects", "add objects_changed to its events"),
        ([{**CHAT, "events": ["objects_changed"], "objects": []}], "[0].objects", "must not be an empty list"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_notifications(targets: list[Any], path: str, words: str) -> None:
    with pytest.raises(StrategyLibError) as caught:
        parse_notifications({"targets": targets})
    assert any(
        problem.path == f"$.data.targets{path}" and words in problem.message for problem in caught.value.problems
    )


def test_a_list_of_targets_is_needed() -> None:
    with pytest.raises(StrategyLibError, match="targets is missing"):
        parse_notifications({})
