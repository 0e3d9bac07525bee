"""Documents: loaded as they are written, judged with the lines of their files, committed, discarded, compared."""

from __future__ import annotations

import json
from typing import Any

import pytest
import responses

from tests.unit.slipway_cli.conftest import Slipway, Write
from tests.unit.slipway_cli.online.conftest import AT, Server

WARNING = {"message": "design:2: $: odd", "text": "odd", "path": "$", "line": 2, "collection": "design", "error": False}
ERROR = {**WARNING, "message": "design:4: $.data: bad", "text": "bad", "path": "$.data", "line": 4, "error": True}


def judged(*messages: Any, **more: Any) -> dict[str, Any]:
    """Shipyard's status body; that of a commit says what comes next."""
    if more.get("revision"):
        kind = "deploy_site" if more["revision"] == 1 else "update_site"
        more = {"next": {"name": kind, "parameters": {}, "why": ""}} | more
    return {"message": "Validations succeeded", "status": "Success", "details": {"messageList": list(messages)}} | more


def load(slipway: Slipway, server: Server, write: Write, version: int = 7) -> None:
    """Load two files as the collection `design`."""
    buffer = {"buffer": {"version": version, "collections": ["design"]}}
    server.on("POST", "/configdocs/design", judged(**buffer), 201, {"ETag": f'"{version}"'})
    one, two = write("one.yaml", "a: 1\nb: 2"), write("two.yaml", "---\nc: 3\n")
    assert slipway("create", "configdocs", "design", "-f", one, "-f", two).exit_code == 0


def test_files_are_sent_as_they_are_written(slipway: Slipway, server: Server, write: Write) -> None:
    body = judged({**WARNING, "line": 3}, buffer={"collections": ["design", "more"]})
    server.on("POST", "/configdocs/design", body, 201, {"ETag": '"7"'})
    one, two = write("one.yaml", "# a comment\na:   1"), write("two.yaml", "---\nb: 2 # bé\n")
    result = slipway("create", "configdocs", "design", "--filename", one, "--filename", two)
    assert (result.exit_code, result.stderr) == (0, f"1 warning:\n  {two}:1: odd\n")
    assert result.stdout == (
        "collection design is loaded (2 files); the buffer of site default holds: design, more\n"
        "next: slipway diff configdocs committed buffer; slipway commit configdocs\n"
    )
    assert server.request.body == "# a comment\na:   1\n---\nb: 2 # bé\n".encode()
    assert server.request.headers["Content-Type"] == "application/x-yaml"
    assert server.request.params == {"site": "default", "verbosity": "1"}, "the server's own buffer mode"


@pytest.mark.parametrize("mode", ["append", "replace"])
def test_buffer_modes(slipway: Slipway, server: Server, write: Write, mode: str) -> None:
    server.on("POST", "/configdocs/design", judged(), 201)
    assert slipway("create", "configdocs", "design", "-f", write("a.yaml", "a: 1\n"), f"--{mode}").exit_code == 0
    assert server.request.params["buffermode"] == mode


def test_a_collection_is_taken_away_by_sending_nothing(slipway: Slipway, server: Server) -> None:
    server.on("POST", "/configdocs/design", judged(), 201)
    result = slipway("create", "configdocs", "design", "--empty-collection")
    assert result.stdout.startswith("collection design is to be taken away")
    assert server.request.params["empty-collection"] == "true"
    assert not server.request.body


@pytest.mark.parametrize("text", ["", "\n \n", "# later\n", "---\n", "--- # later\r\n...\n\n"])
def test_files_without_a_document_are_not_sent(slipway: Slipway, server: Server, write: Write, text: str) -> None:
    file = write("empty.yaml", text)
    result = slipway("create", "configdocs", "design", "-f", file)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: {file}: there is no document in it; to take")
    assert "slipway create configdocs design --empty-collection" in result.stderr
    assert not server.mock.calls


def test_an_empty_file_beside_others_is_sent_as_it_is(slipway: Slipway, server: Server, write: Write) -> None:
    server.on("POST", "/configdocs/design", judged(), 201)
    files = ("-f", write("empty.yaml", "# later\n"), "-f", write("a.yaml", "--- {a: 1}"))
    assert slipway("create", "configdocs", "design", *files).exit_code == 0
    assert server.request.body == b"# later\n--- {a: 1}"


def test_standard_input_is_a_file(slipway: Slipway, server: Server) -> None:
    server.on("POST", "/configdocs/design", judged(), 201)
    assert slipway("create", "configdocs", "design", "-f", "-", stdin="a: 1\n").exit_code == 0
    assert server.request.body == b"a: 1\n"


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-f", "missing.yaml"),
        ("-d", "missing"),
        ("-f", "-", "--append", "--replace"),
        ("-f", "-", "--empty-collection"),
        ("-f", "-", "--recurse"),
    ],
)
def test_what_cannot_be_meant_is_wrong_use(slipway: Slipway, server: Server, options: tuple[str, ...]) -> None:
    result = slipway("create", "configdocs", "design", *options)
    assert (result.exit_code, "Error: " in result.stderr) == (2, True)


def test_what_cannot_be_read_is_told_by_file_and_line(slipway: Slipway, server: Server, write: Write) -> None:
    messages = [{**ERROR, "line": 2, "path": "$"}, {**ERROR, "line": 4}]
    server.refuse("POST", "/configdocs/design", 400, "collection design cannot be read", *messages)
    one, two = write("one.yaml", "a: 1\nb: 2"), write("two.yaml", "---\nc: 3\n")
    result = slipway("create", "configdocs", "design", "-f", one, "-f", two)
    assert result.exit_code == 1
    assert result.stderr == (
        f"2 errors:\n  {one}:2: bad\n  {two}:2: $.data: bad\nError: collection design cannot be read\n"
    )


def test_a_commit_tells_the_lines_of_the_files_that_were_loaded(slipway: Slipway, server: Server, write: Write) -> None:
    load(slipway, server, write)
    server.refuse("POST", "/commitconfigdocs", 400, "Validations failed", WARNING, ERROR, headers={"ETag": '"7"'})
    result = slipway("commit", "configdocs")
    assert result.exit_code == 1
    told = result.stderr.splitlines()
    assert told[1].endswith("/two.yaml:2: $.data: bad")
    assert told[3].endswith("/one.yaml:2: odd")
    assert told[4:] == ["Error: Validations failed"]


def test_a_commit(slipway: Slipway, server: Server, write: Write) -> None:
    load(slipway, server, write)
    server.on("POST", "/commitconfigdocs", judged(WARNING, revision=3, site="default"), headers={"ETag": '"8"'})
    result = slipway("commit", "configdocs")
    assert result.exit_code == 0
    assert result.stdout.startswith(
        "committed site default as revision 3\nnext: slipway plan update_site; slipway create"
    )
    assert result.stderr.endswith("/one.yaml:2: odd\n")
    assert server.request.params["force"] == server.request.params["dryrun"] == "false"


def test_a_forced_commit_says_what_it_overrode(slipway: Slipway, server: Server) -> None:
    body = judged(ERROR, revision=3, site="default", forced=True)
    server.on("POST", "/commitconfigdocs", body)
    result = slipway("commit", "configdocs", "--force")
    assert (result.exit_code, "as revision 3, in spite of its errors" in result.stdout) == (0, True)
    assert "1 error:" in result.stderr
    assert server.request.params["force"] == "true"


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"revision": 1, "deployable": True}, ["next: slipway create action deploy_site --follow"]),
        (
            {"deployable": True, "intermediate_commits": []},
            ["next: slipway plan update_site; slipway create action update_site --follow"],
        ),
        (
            {"forced": True, "deployable": True},
            [
                "an action needs --continue-on-fail: the revision has errors",
                "next: slipway plan update_site; slipway create action update_site --continue-on-fail --follow",
            ],
        ),
        (
            {"intermediate_commits": [2, 3]},
            [
                "revisions 2, 3 were never deployed: update_site passes them over, deploy_site needs "
                "--allow-intermediate-commits",
                "next: slipway plan update_site; slipway create action update_site --follow",
            ],
        ),
        (
            {"forced": True, "intermediate_commits": [3]},
            [
                "revision 3 was never deployed: update_site passes it over, deploy_site needs "
                "--allow-intermediate-commits",
                "an action needs --continue-on-fail: the revision has errors",
                "next: slipway plan update_site; slipway create action update_site --continue-on-fail --follow",
            ],
        ),
        (
            {"next": {"name": "update_site", "parameters": {"allow_redeploy": True}, "why": "n1 is left alone"}},
            [
                "n1 is left alone",
                "next: slipway plan update_site --allow-redeploy; "
                "slipway create action update_site --allow-redeploy --follow",
            ],
        ),
        (
            {"forced": True, "deployable": False, "intermediate_commits": [1]},
            ["no action can use it: mend the documents, load them, and commit them"],
        ),
    ],
)
@pytest.mark.parametrize("path", ["/commitconfigdocs", "/revisions/1/rollback"])
def test_what_comes_next_is_what_would_not_be_refused(
    slipway: Slipway, server: Server, path: str, facts: dict[str, Any], told: list[str]
) -> None:
    server.on("POST", path, judged(**{"revision": 4, "site": "default"} | facts))
    command = ("rollback", "configdocs", "1") if "rollback" in path else ("commit", "configdocs")
    assert slipway(*command).stdout.splitlines()[1:] == told


@pytest.mark.parametrize("by_option", [True, False])
def test_what_comes_next_is_for_the_site_that_was_named(
    slipway: Slipway, server: Server, write: Write, monkeypatch: pytest.MonkeyPatch, by_option: bool
) -> None:
    named = ["--site", "fra1"] if by_option else []
    if not by_option:
        monkeypatch.setenv("SLIPWAY_SITE", "fra1")
    server.on("POST", "/configdocs/design", judged(buffer={"collections": ["design"]}), 201)
    loaded = slipway("create", "configdocs", "design", "-f", write("one.yaml", "a: 1"), *named).stdout
    assert loaded.endswith(
        "next: slipway diff configdocs committed buffer --site fra1; slipway commit configdocs --site fra1\n"
    )
    server.on("POST", "/commitconfigdocs", judged(revision=1, site="fra1"))
    committed = slipway("commit", "configdocs", *named).stdout
    assert committed.endswith("next: slipway create action deploy_site --site fra1 --follow\n")


def test_a_dry_run_ends_with_what_it_found(slipway: Slipway, server: Server) -> None:
    server.on("POST", "/commitconfigdocs", judged(message="Validations succeeded DRYRUN"))
    result = slipway("commit", "configdocs", "--dry-run")
    assert (result.exit_code, result.stdout) == (
        0,
        "Validations succeeded DRYRUN: nothing is committed\nnext: slipway commit configdocs\n",
    )
    assert server.request.params["dryrun"] == "true"
    server.mock.replace(
        responses.POST,
        server.request.url.partition("?")[0],
        json=judged(ERROR, status="Failure", message="Validations failed DRYRUN"),
        headers={"X-Shipyard-Req": "r"},
    )
    assert slipway("commit", "configdocs", "--dryrun").exit_code == 1
    assert "--dry-run" not in slipway("commit", "configdocs", "--help").stdout.replace("slipway commit", "")


def test_force_and_dryrun_exclude_each_other(slipway: Slipway, server: Server) -> None:
    for command in (("commit", "configdocs"), ("rollback", "configdocs", "1")):
        assert slipway(*command, "--force", "--dryrun").exit_code == 2


def test_going_back(slipway: Slipway, server: Server) -> None:
    server.on("POST", "/revisions/2/rollback", judged(revision=4, site="default", rollback_of=2), 201)
    result = slipway("rollback", "configdocs", "2")
    assert result.stdout.startswith("committed site default as revision 4, with the documents of revision 2\n")


STATUSES = [
    {"collection_name": name, "base_version": "committed", "base_revision": 2, "base_status": "present",
     "new_version": "buffer", "new_revision": 3, "new_status": status}
    for name, status in (("design", "modified"), ("more", "unmodified"))
]  # fmt: skip


@pytest.mark.parametrize("options", [("--yes",), ()])
def test_the_buffer_is_discarded_exactly_as_it_was_shown(
    slipway: Slipway, server: Server, options: tuple[str, ...]
) -> None:
    server.on("GET", "/configdocs", STATUSES, headers={"ETag": '"7"'})
    server.on("DELETE", "/configdocs", status=204)
    result = slipway("delete", "configdocs", *options, stdin="y\n")
    assert (result.exit_code, result.stdout.endswith("the buffer of site default is empty\n")) == (0, True)
    assert ("what was loaded of site default at http://127.0.0.1:1: design?" in result.stderr) is not bool(options)
    assert server.request.headers["If-Match"] == '"7"'


@pytest.mark.parametrize(("answer", "told"), [("n\n", "nothing was discarded"), ("", "nobody answered")])
def test_the_buffer_is_not_discarded_unless_one_says_so(
    slipway: Slipway, server: Server, answer: str, told: str
) -> None:
    server.on("GET", "/configdocs", STATUSES)
    result = slipway("delete", "configdocs", stdin=answer)
    assert (result.exit_code, told in result.stderr) == (1, True)


def test_an_empty_buffer_need_not_be_discarded(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/configdocs", STATUSES[1:])
    assert slipway("delete", "configdocs").stdout == "the buffer of site default is empty already\n"


def test_a_revision_that_is_not_there_yet_is_not_said_to_be(slipway: Slipway, server: Server) -> None:
    old, new = {"version": "committed", "revision": None}, {"version": "buffer", "revision": 1}
    server.on("GET", "/diff/configdocs", {"from": old, "to": new, "documents": []})
    told = "from committed (empty) to buffer (would be revision 1): nothing differs\n"
    assert slipway("diff", "configdocs").stdout == told


def test_the_list_of_collections(slipway: Slipway, server: Server) -> None:
    server.on("GET", "/configdocs", STATUSES)
    lines = slipway("get", "configdocs", "-c", "-b").stdout.splitlines()
    assert lines[2].split() == ["design", "committed:", "present", "2", "buffer:", "modified"]
    assert sorted(server.request.params["versions"]) == ["buffer", "committed"]
    assert slipway("get", "configdocs", "-c").exit_code == 2
    assert slipway("get", "configdocs", "--cleartext-secrets").exit_code == 2


@pytest.mark.parametrize("command", [("configdocs", "--collection", "design"), ("renderedconfigdocs",)])
def test_documents_are_those_of_the_buffer_or_else_what_is_committed(
    slipway: Slipway, server: Server, command: tuple[str, ...]
) -> None:
    path = "/configdocs/design" if "--collection" in command else "/renderedconfigdocs"
    buffer = [responses.matchers.query_param_matcher({"version": "buffer"}, strict_match=False)]
    committed = [responses.matchers.query_param_matcher({"version": "committed"}, strict_match=False)]
    server.refuse("GET", path, 404, "its buffer is empty", match=buffer)
    server.on("GET", path, "# kept\na: 1\n---\nb: 2\n", match=committed)
    assert slipway("get", *command).stdout == "# kept\na: 1\n---\nb: 2\n"
    assert json.loads(slipway("get", *command, "-o", "json").stdout) == [{"a": 1}, {"b": 2}]
    assert slipway("get", *command, "-c", "--cleartext-secrets").exit_code == 0
    assert server.request.params["cleartext-secrets"] == "true"
    refused = slipway("get", *command, "-b")
    assert (refused.exit_code, refused.stderr) == (1, "Error: its buffer is empty\n"), "what is named is what is meant"
    assert slipway("get", *command, "-c", "-b").exit_code == 2


def test_the_history(slipway: Slipway, server: Server) -> None:
    revision = {
        "revision": 4, "site": "default", "created": AT, "user": "ann", "versions": ["committed"], "rollback_of": 2,
        "forced": True, "problems": ["bad", "worse"], "collections": [{"name": "design", "digest": "d"}], "digest": "d",
    }  # fmt: skip
    server.on("GET", "/revisions", [revision], headers={"Link": '</next>; rel="next"'})
    result = slipway("get", "revisions", "--limit", "1")
    assert "committed, goes back to 2, forced: 2 problems overridden" in result.stdout
    assert "older ones are left out: see --limit" in result.stdout
    server.on("GET", "/revisions/4", revision)
    assert "Forced in spite of:\n  bad\n  worse\n" in slipway("describe", "revision/4").stdout


@pytest.mark.parametrize("text", ["abc", "0", "-", "1.0", "9" * 5000])
@pytest.mark.parametrize(
    "command", [("describe", "revision"), ("rollback", "configdocs"), ("create", "action", "deploy_site", "--revision")]
)
def test_what_is_no_revision_is_told_in_words(slipway: Slipway, command: tuple[str, ...], text: str) -> None:
    result = slipway(*command, text)
    assert result.exit_code == 2
    assert f"{text!r} is not the number of a revision: `slipway get revisions` lists them" in result.stderr


def test_the_difference_of_two_versions(slipway: Slipway, server: Server) -> None:
    fields = [
        {"path": "$.data.a", "change": "modified", "from": 1, "to": "x"},
        {"path": "$.data.b", "change": "added", "to": {"k": [1]}},
        {"path": "$.data.c", "change": "removed", "from": "y" * 500},
    ]
    common = {"collection": "design", "schema": "x/Y/v1", "layer": "site"}
    documents = [
        {**common, "name": "one", "change": "modified", "fields": fields, "fields_left_out": 3},
        {**common, "name": "two", "change": "removed", "fields": []},
        {**common, "name": "three", "change": "modified", "fields": [], "by_policy": ["default-group", "other"]},
    ]
    body = {
        "from": {"version": "committed", "revision": 2}, "to": {"version": None, "revision": 3}, "documents": documents,
    }  # fmt: skip
    server.on("GET", "/diff/configdocs", body)
    shown = slipway("diff", "configdocs", "committed", "3", "--rendered").stdout.splitlines()
    assert shown[:4] == [
        "from committed (revision 2) to revision 3: 3 documents differ",
        "~ design: x/Y/v1 one (site)",
        '    ~ $.data.a: 1 -> "x"',
        '    + $.data.b: {"k": [1]}',
    ]
    assert len(shown[4]) < 250
    assert shown[5:] == [
        "    and more",
        "- design: x/Y/v1 two (site)",
        "~ design: x/Y/v1 three (site), changed by policy default-group, other",
    ]
    query = server.request.params
    assert (query["from"], query["to"], query["rendered"]) == ("committed", "3", "true")
    assert slipway("diff", "configdocs", "comitted").exit_code == 2
