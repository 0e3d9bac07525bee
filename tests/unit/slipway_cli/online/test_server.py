"""What a server refuses and says, as a person and as a program see it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
import requests
import responses
import yaml
from rich.console import Console

from slipway_cli.online.documents.collection_files import Collection
from slipway_cli.online.server.server import Message, in_files, level_of, messages_of, print_messages, sentence
from tests.unit.slipway_cli.conftest import Slipway
from tests.unit.slipway_cli.online.conftest import API, TOKEN, URL, Server

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


def test_equal_warnings_about_many_documents_are_one_with_their_names() -> None:
    paper = io.StringIO()

    def warning(name: str, **more: Any) -> Message:
        text = f"node {name} has no rack"
        about = {"documents": [{"schema": "s", "name": name}], "path": "$.data", "text": text, **more}
        return {"message": f"site:{name[1:]}: $.data: {text}", "error": False, "level": "Warning", **about}

    alone = {**warning("n9", path="$.data.rack"), "message": "another"}
    wrong = [{**warning(f"n{number}"), "error": True, "message": f"bad {number}"} for number in (1, 2)]
    messages = [*(warning(f"n{number}") for number in range(1, 25)), alone, *wrong]
    print_messages(Console(file=paper, width=80), messages, most=2)
    names = ", ".join(f"n{number}" for number in range(1, 13))
    assert paper.getvalue().splitlines() == [
        "2 errors:",
        "  bad 1",
        "  bad 2",
        "25 warnings:",
        f"  site:1: $.data: node n1 has no rack (24 times: {names} and 12 more)",
        "  another",
    ]


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


def test_not_being_logged_in_is_told_where_there_is_a_server(slipway: Slipway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLIPWAY_URL", URL)
    with responses.RequestsMock() as mock:
        alive = mock.get(f"{URL}/slipway/health/live", status=204)
        result = slipway("get", "actions")
    assert "Authorization" not in alive.calls[0].request.headers
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: not logged in at {URL}: run `slipway login`. The server is the one in")


def test_a_port_on_which_nobody_listens_is_no_missing_login(slipway: Slipway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLIPWAY_URL", URL)
    with responses.RequestsMock() as mock:
        mock.get(
            f"{URL}/slipway/health/live",
            body=requests.ConnectionError(ConnectionRefusedError(111, "Connection refused")),
        )
        result = slipway("get", "actions")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: Airflow at {URL} does not answer (Connection refused). The server is the")


def test_an_airflow_without_slipway_is_no_missing_login(slipway: Slipway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLIPWAY_URL", URL)
    with responses.RequestsMock() as mock:
        mock.get(f"{URL}/slipway/health/live", status=404, json={"detail": "Not Found"})
        result = slipway("get", "actions")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: there is no Slipway at {URL}. The server is the one in SLIPWAY_URL")


def test_a_token_that_has_expired(slipway: Slipway, server: Server) -> None:
    server.refuse("GET", "/actions", 401, "the token has expired")
    result = slipway("get", "actions")
    assert result.stderr == f"Error: {URL} does not accept the token (any more): renew SLIPWAY_TOKEN, which is set\n"
    assert TOKEN not in result.output


@pytest.mark.parametrize(
    ("status", "message", "told"),
    [
        (403, "you may not trigger deploy_site", "you may not trigger deploy_site"),
        (404, "there is no action", "there is no action"),
        (500, "an unexpected error", "an unexpected error. Try again later. (request request-1)"),
        (503, "no store", "no store. Try again later. (request request-1)"),
    ],
)
def test_the_servers_own_words(slipway: Slipway, server: Server, status: int, message: str, told: str) -> None:
    server.refuse("GET", "/actions", status, message)
    result = slipway("get", "actions")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"Error: {told}\n")


def test_programs_get_the_refusal_as_data(slipway: Slipway, server: Server) -> None:
    server.refuse("GET", "/actions", 400, "wrong", {"message": "bad"}, {"message": "worse"})
    for options, read in (
        (("-o", "json"), json.loads),
        (("-o", "yaml"), yaml.safe_load),
        (("--output-format", "raw"), json.loads),
        (("--output-format", "format"), json.loads),
    ):
        result = slipway("get", "actions", *options)
        assert (result.exit_code, result.stderr) == (1, "Error: wrong\n")
        assert [each["message"] for each in read(result.stdout)["details"]["messageList"]] == ["bad", "worse"]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"body": requests.ConnectionError("x")}, f"Airflow at {URL} does not answer (ConnectionError). The server is"),
        ({"body": requests.ReadTimeout("x")}, f"{URL} has not answered for 0 s (GET /slipway/api/v1.0/actions)"),
        ({"body": requests.exceptions.SSLError("x")}, "is not trusted here"),
        ({"body": "<html>", "status": 404}, f"there is no Slipway at {URL}"),
        ({"body": "<html>", "status": 502}, "HTTP 502: <html>"),
        ({"body": "<html>", "status": 200}, f"what answers at {URL} is not Slipway"),
        (
            {"status": 302, "headers": {"Location": "http://login/"}},
            "points to http://login/; use the URL of that place",
        ),
    ],
)
def test_what_is_no_slipway_or_not_there(
    slipway: Slipway, server: Server, answer: dict[str, object], told: str
) -> None:
    server.mock.get(f"{API}/actions", **answer)
    result = slipway("get", "actions")
    assert result.exit_code == 1
    assert told in result.stderr
    assert result.stderr.count("\n") == 1, "one paragraph"
    assert TOKEN not in result.output


def test_requests_are_told_with_debug(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/actions", [])
    result = slipway("--debug", "get", "actions")
    assert result.stderr.startswith(f"GET {API}/actions: 200 in 0.")
    assert result.stderr.endswith("request request-1\n")
    assert TOKEN not in result.output


MARKER = "8a4f8b0e-8f4c-4a49-9d3c-3c8b8f6f2f50"
SHARED = ("--site", "s1", "-v", "3", "--context-marker", MARKER)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--site", "s1", "-v", "3", "--context-marker", MARKER.upper().replace("-", ""), "get", "actions"),
        ("get", "actions", *SHARED),
        ("--site", "s0", "-v", "0", "get", "actions", *SHARED),
    ],
)
def test_shared_options_stand_before_or_after_the_command(
    slipway: Slipway, server: Server, arguments: tuple[str, ...]
) -> None:
    server.on("GET", "/actions", [])
    assert slipway(*arguments).exit_code == 0
    assert (server.request.params["site"], server.request.params["verbosity"]) == ("s1", "3")
    assert server.request.headers["X-Context-Marker"] == MARKER


@pytest.mark.parametrize(
    "options",
    [("--context-marker", "7"), ("-v", "6"), ("--output-format", "table"), ("-o", "raw"), ("--no-such",)],
)
def test_wrong_options_are_wrong_use(slipway: Slipway, server: Server, options: tuple[str, ...]) -> None:
    assert slipway("get", "actions", *options).exit_code == 2


def test_the_forms_of_a_result(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/actions", [])
    assert slipway("get", "actions").stdout == "site default has no action yet\n"
    assert slipway("--output-format", "cli", "get", "actions").stdout == "site default has no action yet\n"
    assert slipway("get", "actions", "-o", "json").stdout == "[]\n"
    assert slipway("get", "actions", "-o", "yaml").stdout == "[]\n"
    assert slipway("get", "actions", "--output-format", "raw").stdout == "[]"
    assert slipway("--output-format", "raw", "get", "actions", "-o", "json").stdout == "[]\n"
