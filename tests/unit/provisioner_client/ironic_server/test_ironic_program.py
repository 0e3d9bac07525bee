"""What the embedded Ironic is installed from and configured with, and what its command refuses."""

from __future__ import annotations

import configparser
import importlib.metadata
import re
from pathlib import Path

from click.testing import CliRunner
from packaging.requirements import Requirement

from provisioner_client.ironic_server import installation
from provisioner_client.ironic_server.configuration import configuration
from provisioner_client.ironic_server.installation import (
    HARDWARE,
    environment_name,
    environment_variables,
    lock_file,
    with_hardware,
)
from provisioner_client.ironic_server.program import main

NEEDED = ["--port", "1", "--environments", "e", "--sockets", "s", "--database", "d"]


def test_the_lock_has_what_is_wanted_with_hashes_and_names_no_registry() -> None:
    text = lock_file().read_text(encoding="utf-8")
    assert "://" not in text
    blocks = re.split(r"\n(?=[a-z0-9])", text.split("\n", 2)[2])
    pins = {}
    for block in blocks:
        pin = Requirement(block.partition(" \\")[0])
        pins[pin.name] = str(pin.specifier).removeprefix("==")
        assert "--hash=sha256:" in block, block
    wanted = (Path(installation.__file__).with_name("wanted.txt")).read_text(encoding="utf-8").splitlines()
    assert [line for line in wanted if (one := Requirement(line)) and not one.specifier.contains(pins[one.name])] == []
    assert len(pins) > 100


def test_another_lock_or_python_is_another_environment() -> None:
    name = environment_name("ironic==39.0.0")
    assert name == environment_name("ironic==39.0.0")
    assert name != environment_name("ironic==39.0.1")


def test_nothing_of_slipways_environment_leads_ironics_python_astray() -> None:
    given = {"PYTHONPATH": "/slipway", "PYTHONDONTWRITEBYTECODE": "1", "VIRTUAL_ENV": "/venv", "PATH": "/bin"}
    assert environment_variables(given) == {"PATH": "/bin"}


def test_the_hardware_type_is_found_by_the_entry_points_of_a_distribution(tmp_path: Path) -> None:
    written, modules = with_hardware(tmp_path / "hardware").split(":")
    (found,) = importlib.metadata.distributions(path=[written])
    assert {(one.group, one.name) for one in found.entry_points} == {
        ("ironic.hardware.types", "slipway"),
        ("ironic.hardware.types", "slipway-redfish"),
        ("ironic.hardware.interfaces.deploy", "slipway"),
        ("ironic.hardware.interfaces.inspect", "slipway"),
        ("ironic.hardware.interfaces.power", "slipway"),
    }
    assert modules == str(HARDWARE)
    for one in found.entry_points:
        assert f"class {one.attr}(" in (HARDWARE / f"{one.module}.py").read_text(encoding="utf-8")


def test_it_listens_on_loopback_alone_and_lets_nobody_in_without_a_password(tmp_path: Path) -> None:
    read = configparser.ConfigParser(interpolation=None)
    read.read_string(configuration(tmp_path / "a$b", 6385, "postgresql+psycopg://slipway@/x"))
    assert (read["api"]["host_ip"], read["api"]["port"]) == ("127.0.0.1", "6385")
    assert read["DEFAULT"]["auth_strategy"] == "http_basic"
    # To oslo.config one dollar begins a name.
    assert read["DEFAULT"]["http_basic_auth_user_file"] == f"{tmp_path}/a$$b/users"
    pool = int(read["database"]["max_pool_size"]) + int(read["database"]["max_overflow"])
    assert pool <= 30, "PostgreSQL has no more left for it"


def test_a_fault_that_there_is_not_is_named_before_anything_is_installed(tmp_path: Path) -> None:
    for text, said in {
        "deploy:n1:flaky": "behaviour 'flaky' is none of ok, fail, slow, stuck",
        "relabel:n1": "phase 'relabel' is none of prepare, deploy, destroy",
        "n1": "is not PHASE:NODE",
    }.items():
        done = CliRunner().invoke(main, [*NEEDED, "--folder", str(tmp_path / "f"), "--fail", text])
        assert (done.exit_code, said in done.output) == (2, True), done.output
        assert list(tmp_path.iterdir()) == []
