"""The command as a user runs it: in this process for speed, or as a process where that is the point."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import responses
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result

from slipway_cli.main import main

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "slipway_cli" / "data" / "example_site.yaml"

Slipway = Callable[..., Result]
Write = Callable[[str, str], Path]


def offered(*words: str) -> list[str]:
    """Return what a shell is offered for the last of these words."""
    shell = ShellComplete(main, {}, "slipway", "_SLIPWAY_COMPLETE")
    return [str(item.value) for item in shell.get_completions(list(words[:-1]), words[-1])]


@pytest.fixture(name="slipway")
def _slipway(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Slipway:
    """Return a function that runs `slipway` with arguments and gives its result."""
    monkeypatch.delenv("COLUMNS", raising=False)
    for name in [name for name in os.environ if name.startswith("SLIPWAY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)
        unexpected = result.exception and not isinstance(result.exception, SystemExit)
        assert not unexpected, f"traceback for the user: {result.exception!r}"
        return result

    return run


@pytest.fixture
def wire() -> Iterator[responses.RequestsMock]:
    """Yield what answers requests; each answer has to be asked for."""
    with responses.RequestsMock() as mock:
        yield mock


@pytest.fixture
def example() -> Path:
    """Return the example site."""
    return EXAMPLE


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a file and gives its path."""

    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write_file
