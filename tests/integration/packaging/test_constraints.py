"""One resolution for Slipway with all extras: `slipway constraints` is the whole of it, `requirements.lock` a part."""

from __future__ import annotations

import configparser
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from uv import find_uv_bin

from slipway_cli.main import main
from tests.support.wheel import ROOT, package_files

PRODUCTION = ("celery", "fab", "postgres", "redis")


def _requirements() -> dict[str, list[str]]:
    """Return what `setup.cfg` asks for: by extra, and by "" what is always needed."""
    read = configparser.ConfigParser()
    read.read(ROOT / "setup.cfg")
    found = {extra: lines.split("\n") for extra, lines in read["options.extras_require"].items()}
    found[""] = read["options"]["install_requires"].split("\n")
    return {extra: [line for line in lines if line] for extra, lines in found.items()}


def _pins(text: str) -> dict[str, str]:
    """Return name and version of each pin in a text."""
    lines = [line.removesuffix(" \\") for line in text.splitlines() if line and line[0] not in " #"]
    asked = [Requirement(line) for line in lines]
    return {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in asked}


CONSTRAINTS = (ROOT / "slipway_cli" / "data" / "constraints.txt").read_text()
EXTRAS = sorted(set(_requirements()) - {""})


def test_the_command_prints_all_pins() -> None:
    said = CliRunner().invoke(main, ["constraints"])
    assert (said.exit_code, _pins(said.stdout)) == (0, _pins(CONSTRAINTS))
    comments = [line for line in said.stdout.splitlines() if line.startswith("#")]
    assert comments[0].startswith("# The versions of all packages that this version of Slipway was tested with")
    assert comments[1].endswith("slipway constraints > constraints.txt")
    assert not any("uv pip" in line for line in comments), "how the file was made is of no use to who installs"
    assert all(len(line) <= 120 for line in comments)
    assert "hash" not in CONSTRAINTS
    assert "://" not in CONSTRAINTS


def test_the_lock_is_a_part_of_the_constraints() -> None:
    locked, pinned = _pins((ROOT / "requirements.lock").read_text()), _pins(CONSTRAINTS)
    assert {name: pinned.get(name) for name in locked} == locked, "make both anew, in this order: CONTRIBUTING.md"
    assert set(pinned) - set(locked), "the lock has no packages of production"


@pytest.mark.parametrize(
    "file", ["slipway_cli/data/constraints.txt", "requirements.lock", "provisioner_client/ironic_server/ironic.lock"]
)
def test_contributing_says_how_a_file_was_made(file: str) -> None:
    command = (ROOT / file).read_text().splitlines()[1].removeprefix("#").strip()
    assert command.endswith(f"-o {file}")
    assert command in (ROOT / "CONTRIBUTING.md").read_text()


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_what_setup_asks_for_is_pinned(extra: str) -> None:
    pinned = _pins(CONSTRAINTS)
    for line in _requirements()[extra]:
        asked = Requirement(line)
        version = pinned.get(canonicalize_name(asked.name))
        assert version is not None, f"{line} of setup.cfg is not in the constraints: make them anew (CONTRIBUTING.md)"
        assert asked.specifier.contains(version), f"{line} of setup.cfg, but {version} in the constraints"


def test_nothing_imports_the_embedded_database() -> None:
    found = [
        name
        for name, file in package_files().items()
        if file.suffix == ".py" and ("import pixeltable" in (text := file.read_text()) or "from pixeltable" in text)
    ]
    assert found == []


def test_without_the_embedded_database_up_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slipway_cli.embedded.postgres_account.packages", list)
    for command in ("up", "demo"):
        home = tmp_path / command
        said = CliRunner().invoke(main, [command, "--home", str(home), "--port", "0"])
        assert (said.exit_code, "pip install 'slipway[embedded]'" in said.output) == (1, True), said.output
        assert not (home / "postgresql").exists()
    assert not (tmp_path / "up").exists()


def _resolve(folder: Path, lines: Collection[str], python: str, constraints: str) -> tuple[str, str]:
    """Return the pins that uv finds for these requirements, or why it finds none."""
    (folder / "asked.txt").write_text("\n".join(lines))
    (folder / "constraints.txt").write_text(constraints)
    # A Python of that version need not be there: no package has to be built.
    options = ["--no-config", "--no-header", "--no-annotate", "--python", sys.executable, "--python-version", python]
    done = subprocess.run(
        [find_uv_bin(), "pip", "compile", *options, "--constraints", "constraints.txt", "asked.txt"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return (done.stdout, "") if done.returncode == 0 else ("", done.stderr)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip where no package index answers."""
    found, why = _resolve(tmp_path_factory.mktemp("index"), ["click"], "3.11", "")
    if not found:
        pytest.skip(f"no package index answers: {why.strip()[-200:]}")


@pytest.mark.endurance
@pytest.mark.usefixtures("index")
@pytest.mark.parametrize(
    ("extras", "python"),
    [*(([extra], "3.11") for extra in EXTRAS), (PRODUCTION, "3.12"), (PRODUCTION, "3.13"), (EXTRAS, "3.11")],
    ids=str,
)
def test_each_extra_resolves_to_what_is_pinned(extras: Collection[str], python: str, tmp_path: Path) -> None:
    asked = _requirements()
    lines = [line for extra in ["", *extras] for line in asked[extra]]
    found, why = _resolve(tmp_path, lines, python, CONSTRAINTS)
    assert found, why
    pinned = _pins(CONSTRAINTS)
    assert {name: pinned.get(name) for name in _pins(found)} == _pins(found)


@pytest.mark.endurance
@pytest.mark.usefixtures("index")
@pytest.mark.parametrize(("extra", "pin"), [("fab", "python-dateutil==4.0.0"), ("celery", "celery==5.7.0")])
def test_what_production_cannot_use_has_no_solution(extra: str, pin: str, tmp_path: Path) -> None:
    asked = _requirements()
    name = pin.partition("==")[0]
    others = "\n".join(line for line in CONSTRAINTS.splitlines() if not line.startswith(f"{name}=="))
    found, why = _resolve(tmp_path, [*asked[""], *asked[extra]], "3.11", f"{others}\n{pin}\n")
    assert not found
    assert name in why
