"""Shell completion: the scripts, and what is completed, without importing what is not run."""

from __future__ import annotations

import pytest
from click.shell_completion import BashComplete, ShellComplete

from slipway_cli.main import COMMANDS, LazyCommand, main
from tests.unit.slipway_cli.conftest import Slipway


def completed(*words: str) -> list[str]:
    *before, incomplete = words
    shell = ShellComplete(main, {}, "slipway", "_SLIPWAY_COMPLETE")
    return [item.value for item in shell.get_completions(before, incomplete)]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(slipway: Slipway, shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # It asks the machine's bash for its version.
    monkeypatch.setattr(BashComplete, "_check_version", lambda *_: None)
    result = slipway("completion", shell)
    assert result.exit_code == 0
    assert f"_SLIPWAY_COMPLETE={shell}_complete" in result.stdout


def test_an_unknown_shell_is_wrong_use(slipway: Slipway) -> None:
    assert slipway("completion", "tcsh").exit_code == 2


def test_commands_complete_without_being_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LazyCommand, "load", lambda self, name: pytest.fail(f"{name} was loaded"))
    assert completed("") == list(COMMANDS)
    assert completed("de") == ["delete", "describe", "demo"]
    assert "--site" in completed("--")


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
    assert completed(*words) == expected


TOPICS = {"configdocs": "create configdocs", "actions": "create action", "logs": "logs", "servers": "profile add"}


def test_topics_of_help(slipway: Slipway) -> None:
    assert slipway("help").stdout == slipway("--help").stdout
    for topic, command in TOPICS.items():
        assert f"  slipway {command} " in slipway("help", topic).stdout
    assert slipway("help", "nothing").exit_code == 2
