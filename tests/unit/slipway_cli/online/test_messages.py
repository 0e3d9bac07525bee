"""Messages as lines: where they are, who says them, and in which order."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from slipway_cli.online.collection_files import Collection
from slipway_cli.online.server import Message, in_files, level_of, messages_of, print_messages, sentence

SOURCES = {"design": Collection(b"", ("a.yaml", "b.yaml"), (0, 10))}
MESSAGE = {"message": "design:12: $.data.x: is wrong", "text": "is wrong", "path": "$.data.x", "line": 12}


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ({"collection": "design"}, "b.yaml:2: $.data.x: is wrong"),
        ({"collection": "design", "path": "$"}, "b.yaml:2: is wrong"),
        ({"collection": "design", "line": 10}, "a.yaml:10: $.data.x: is wrong"),
        ({"collection": "design", "line": None}, "design: $.data.x: is wrong"),
        ({"collection": "other"}, "design:12: $.data.x: is wrong"),
        ({"collection": None}, "design:12: $.data.x: is wrong"),
        (
            {"collection": "design", "text": "twice, at line 3; keep one"},
            "b.yaml:2: $.data.x: twice, at a.yaml:3; keep one",
        ),
        ({"collection": "design", "text": "at design line 11"}, "b.yaml:2: $.data.x: at b.yaml:1"),
        ({"collection": "design", "text": "began on line 20, did"}, "b.yaml:2: $.data.x: began on b.yaml:10, did"),
    ],
)
def test_lines_of_a_collection_are_those_of_its_files(message: dict[str, object], line: str) -> None:
    assert in_files(SOURCES)({**MESSAGE, **message}) == line


def test_the_provisioners_words_are_marked() -> None:
    assert sentence({"message": "no host profile", "source": "Drydock"}) == "Drydock: no host profile"
    assert sentence({"message": "busy", "source": "Slipway"}) == "busy"
    documents = [{"schema": "drydock/Rack/v1", "name": "r1"}, {"schema": "", "name": "r2"}]
    said = {"message": "no gateway", "source": "Drydock", "name": "DD1001", "documents": documents}
    assert sentence(said) == "Drydock: DD1001: no gateway [drydock/Rack/v1/r1, r2]"
    assert sentence({**said, "name": "ValidateDesign", "documents": []}) == "Drydock: no gateway"


def test_of_many_only_some_are_printed_and_the_rest_is_counted() -> None:
    paper = io.StringIO()
    notes: list[Message] = [{"message": f"note {n}", "error": False, "level": "Info"} for n in range(5)]
    print_messages(Console(file=paper, width=80), notes, most=2)
    assert paper.getvalue() == "5 notes:\n  note 0\n  note 1\n  and 3 more: -o json shows them\n"


@pytest.mark.parametrize("body", [None, "text", [], {}, {"details": None}, {"details": {"messageList": None}}])
def test_an_answer_without_messages_has_none(body: object) -> None:
    assert messages_of(body) == []


def test_errors_come_first_and_notes_last_and_nothing_steers_the_terminal() -> None:
    paper = io.StringIO()
    messages: list[Message] = [
        {"message": "fine", "error": False, "level": "Info"},
        {"message": "odd", "error": False, "level": "Warning"},
        {"message": "bad\x1b[2J", "error": True, "level": "Error"},
        {"message": "worse"},
    ]
    assert [level_of(message) for message in messages] == ["note", "warning", "error", "error"]
    print_messages(Console(file=paper, width=80), messages)
    assert (
        paper.getvalue()
        == "2 errors:\n  bad\N{REPLACEMENT CHARACTER}[2J\n  worse\n1 warning:\n  odd\n1 note:\n  fine\n"
    )
