"""The command as a whole: help, completion, lazy loading, numbers, exit status, streams."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from provisioner_client.finite_range import FiniteRange
from slipway_cli.__main__ import run
from slipway_cli.main import COMMANDS, LazyCommand, LazyGroup, main
from tests.unit.slipway_cli.conftest import Slipway, offered


def test_help_names_every_command_and_the_exit_status(slipway: Slipway) -> None:
    result = slipway("--help")
    assert result.exit_code == 0
    for name, command in COMMANDS.items():
        assert re.search(rf"^  {name} +{command.short_help[:20]}", result.stdout, re.MULTILINE)
    assert "0 good, 1 the operation failed, 2 wrong use" in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_loads_and_has_help(slipway: Slipway, name: str) -> None:
    result = slipway(name, "--help")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"Usage: main {name} ")


def test_help_loads_no_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LazyCommand, "load", lambda self, name: pytest.fail(f"{name} was loaded"))
    assert CliRunner().invoke(main, ["--help"]).exit_code == 0


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("slipway_cli.no_such_module:command", "not part of this installation"),
        ("slipway_cli.main:no_such_command", "not part of this installation"),
        ("slipway_cli.main:COMMANDS", "is not a click command"),
    ],
)
def test_a_broken_installation_is_told_in_a_sentence(target: str, reason: str) -> None:
    group = LazyGroup("broken", lazy={"lost": LazyCommand(target, "Lost.")})
    result = CliRunner().invoke(group, ["lost"])
    assert (result.exit_code, "Traceback" in result.output) == (1, False)
    assert reason in result.stderr


def test_commands_can_be_added_beside_lazy_ones() -> None:
    group = LazyGroup("mixed", lazy={"lost": LazyCommand("nowhere:x", "Lost and found.")})
    group.add_command(click.Command("eager", help="Here already.", callback=lambda: click.echo("done")))
    assert CliRunner().invoke(group, ["eager"]).stdout == "done\n"
    assert re.search(r"lost +Lost and found\.\n +eager +Here already\.", CliRunner().invoke(group, ["--help"]).stdout)


@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_while_a_command_begins_is_status_130_and_one_line(
    slipway: Slipway, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LazyCommand, "load", pressed)
    result = slipway(name)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "interrupted\n")


def test_ctrl_c_while_the_command_itself_is_imported_is_status_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("slipway_cli.main.main", pressed)
    with pytest.raises(SystemExit) as ended:
        run()
    assert (ended.value.code, capsys.readouterr().err) == (130, "interrupted\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-command"],
        ["validate"],
        ["validate", "--no-such-option", "-"],
        ["plan"],
        ["plan", "-", "-o", "xml"],
        ["plan", "-", "--graph", "png"],
        ["simulate"],
    ],
)
def test_wrong_use_exits_2_and_says_so_on_standard_error(slipway: Slipway, arguments: list[str]) -> None:
    result = slipway(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Error: " in result.stderr


UNREADABLE: dict[str, Callable[[Path], Path | str]] = {
    "no such file": lambda folder: folder / "missing.yaml",
    "a directory": lambda folder: folder,
    "a null byte in the name": lambda folder: "nul\0name",
}


@pytest.mark.parametrize("command", ["validate", "plan", "simulate"])
@pytest.mark.parametrize("case", UNREADABLE)
def test_a_file_that_cannot_be_read_is_wrong_use(slipway: Slipway, tmp_path: Path, command: str, case: str) -> None:
    result = slipway(command, UNREADABLE[case](tmp_path))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Cannot read" in result.stderr


def test_all_files_that_cannot_be_read_are_named(slipway: Slipway, tmp_path: Path) -> None:
    result = slipway("validate", tmp_path / "one.yaml", tmp_path / "two.yaml")
    assert "one.yaml: No such file or directory" in result.stderr
    assert "two.yaml: No such file or directory" in result.stderr


UNUSABLE = {
    "empty": b"",
    "comments only": b"# nothing\n---\n",
    "not UTF-8": b"name: \xff\n",
    "UTF-16": "schema: x\n".encode("utf-16"),
    "not YAML": b"{a: [",
    "a list": b"- 1\n- 2\n",
    "a text": b"hello\n",
    "a null character": b"a: \0\n",
}


@pytest.mark.parametrize("command", ["validate", "plan", "simulate"])
@pytest.mark.parametrize("case", UNUSABLE)
def test_a_file_without_usable_documents_fails_with_a_sentence(slipway: Slipway, command: str, case: str) -> None:
    result = slipway(command, "-", stdin=UNUSABLE[case])
    assert result.exit_code == 1
    assert "<stdin>" in (result.stdout if command == "validate" else result.stderr)
    assert "error" in result.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(slipway: Slipway, shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # It asks the machine's bash for its version.
    monkeypatch.setattr(BashComplete, "_check_version", lambda *_: None)
    result = slipway("completion", shell)
    assert result.exit_code == 0
    assert f"_SLIPWAY_COMPLETE={shell}_complete" in result.stdout


def test_commands_complete_without_being_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LazyCommand, "load", lambda self, name: pytest.fail(f"{name} was loaded"))
    assert offered("") == list(COMMANDS)
    assert offered("de") == ["delete", "describe", "demo"]
    assert "--site" in offered("--")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("create", "action", "re"), ["redeploy_server", "repair_site", "relabel_nodes"]),
        (("diff", "configdocs", "l"), ["last_site_action"]),
        (("diff", "configdocs", "committed", "b"), ["buffer"]),
        (("get", "configdocs", "--version", "s"), ["successful_site_action"]),
        (("get", "site-statuses", "-s", "m"), ["machines-power-state"]),
        (("help", "c"), ["configdocs"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("get", "re"), ["renderedconfigdocs", "reporters", "revisions"]),
    ],
)
def test_kinds_versions_and_topics_complete(words: tuple[str, ...], expected: list[str]) -> None:
    assert offered(*words) == expected


TOPICS = {"configdocs": "create configdocs", "actions": "create action", "logs": "logs", "servers": "profile add"}


def test_topics_of_help(slipway: Slipway) -> None:
    assert slipway("help").stdout == slipway("--help").stdout
    for topic, command in TOPICS.items():
        assert f"  slipway {command} " in slipway("help", topic).stdout
    assert slipway("help", "nothing").exit_code == 2


def commands(command: click.Command, *words: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield a command and all below it, each with its words."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, *words, name)


def test_every_number_with_a_fraction_has_both_bounds() -> None:
    found = {
        (*words, option.opts[0]): option.type
        for words, command in commands(main)
        for option in command.params
        if isinstance(option.type, click.types.FloatParamType)
    }
    assert ("controller", "--lease") in found
    assert {
        where
        for where, kind in found.items()
        if not isinstance(kind, FiniteRange) or kind.min is None or kind.max is None
    } == set()


@pytest.mark.parametrize("given", ["nan", "inf", "-inf", "0", "0.5", "-1", "1e300", "3601"])
def test_a_lease_that_is_none_is_refused_with_what_would_do(slipway: Slipway, given: str) -> None:
    result = slipway("controller", "--lease", given)
    assert result.exit_code == 2
    assert "'--lease'" in result.stderr
    assert "is not in the range 1<=x<=3600" in result.stderr
