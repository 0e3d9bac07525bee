"""What an operator copies from `deploy/`: systemd takes the units, Kubernetes the manifests, haproxy its configuration.

Values for Airflow's chart and the Containerfile are not run: their settings are held against what Slipway needs.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from click.testing import CliRunner

from slipway_cli.embedded.environment_file import Addresses, Secrets, environment_lines
from slipway_cli.main import main
from strategy_lib.airflow_settings import KEYS, RESULT_BACKEND, values_to_use, variable
from strategy_lib.settings import SLIPWAY_STORE_KEYS_FILE
from tests.support.units import DEPLOY, read_unit, variables_of

KUBERNETES = ("1.31", "1.37")
"""The oldest and the newest release that the manifests are held against."""
UNITS = sorted(path.stem for path in (DEPLOY / "systemd").glob("*.service"))
CONTROLLER = "slipway-controller"


def _documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes" / name).read_text(encoding="utf-8")))


MANIFESTS = [one for name in ("secrets.yaml", "controller.yaml", "upgrade.yaml") for one in _documents(name)]
VALUES = _documents("values.yaml")[0]


def test_the_file_of_variables_is_what_the_command_prints() -> None:
    printed = CliRunner().invoke(main, ["environment", "--without-secrets"]).stdout
    command = "slipway environment --without-secrets > deploy/slipway.env"
    assert (DEPLOY / "slipway.env").read_text(encoding="utf-8") == printed, f"make it anew: {command}"


def test_secrets_are_new_each_time_and_systemd_reads_the_file_as_a_shell_does(tmp_path: Path) -> None:
    file, other = tmp_path / "slipway.env", tmp_path / "other.env"
    for made in (file, other):
        made.write_text(CliRunner().invoke(main, ["environment"]).stdout)
    assert "…" not in file.read_text()
    told, others = variables_of(file), variables_of(other)
    assert {key.variable for key in KEYS} - {SLIPWAY_STORE_KEYS_FILE.name} <= {
        name for name in told if told[name] != others[name]
    }
    names = " ".join(told)
    script = f'set -a; . {file}; set +a; for name in {names}; do eval "printf \'%s\\n\' \\"\\$$name\\""; done'
    read = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, timeout=20, check=True, env={})
    assert dict(zip(told, read.stdout.splitlines(), strict=True)) == told


def test_the_file_has_all_that_airflow_needs() -> None:
    at = Addresses("db", "redis", "http://api", "https://people")
    lines = [line for line in environment_lines(at, Secrets(), "/dags") if "=" in line and not line.startswith("#")]
    told = dict(line.split("=", 1) for line in lines)
    assert len(told) == len(lines), "a variable twice"
    for section, options in values_to_use(celery=True).items():
        assert {told[variable(f"{section}.{option}")] for option in options} == set(options.values()), section


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd, a package of Debian, is not installed")
@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (None, ""),
        (("RestartSec=5", "RestartSec=soon"), "Failed to parse sec value"),
        (("Restart=always", "Restat=always"), "Unknown key 'Restat'"),
        (("/opt/slipway/bin/", "/opt/slipway/sbin/"), "is not executable"),
    ],
    ids=["as they are", "a value", "a key", "a program"],
)
def test_systemd_takes_the_units(change: tuple[str, str] | None, complaint: str, tmp_path: Path) -> None:
    programs, units = tmp_path / "opt" / "slipway" / "bin", tmp_path / "etc" / "systemd" / "system"
    programs.mkdir(parents=True)
    units.mkdir(parents=True)
    for name in ("airflow", "slipway"):
        (programs / name).touch(0o755)
    for name in UNITS:
        text = (DEPLOY / "systemd" / f"{name}.service").read_text(encoding="utf-8")
        (units / f"{name}.service").write_text(text.replace(*change) if change else text)
    options = ["--man=no", "--recursive-errors=no", f"--root={tmp_path}"]
    done = subprocess.run(
        ["systemd-analyze", "verify", *options, *(f"{name}.service" for name in UNITS)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode == 0, complaint in done.stderr) == (change is None, True), done.stderr
    assert change is not None or done.stderr == ""


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_is_started_again_and_reads_the_file_of_variables(name: str, tmp_path: Path) -> None:
    unit = read_unit(name, str, tmp_path)
    assert (unit.files, unit.again_after) == ((Path("/etc/slipway/slipway.env"),), 5)
    # A task polls for 60 s in its worker, and is deferred then.
    assert unit.stop_within >= (90 if name == "slipway-worker" else 15)


def test_the_controller_gets_its_password_and_nothing_that_airflow_trusts(tmp_path: Path) -> None:
    unit = read_unit(CONTROLLER, str, tmp_path)
    secret = {key.variable for key in KEYS} - {SLIPWAY_STORE_KEYS_FILE.name}
    assert set(unit.unset) == secret | {variable("database.sql_alchemy_conn")}
    assert unit.environment["SLIPWAY_SERVICE_PASSWORD_FILE"] == f"{tmp_path}/password"
    assert unit.credentials == {"password": Path("/etc/slipway/controller.password")}
    assert all(read_unit(other, str, tmp_path).credentials == {} for other in UNITS if other != CONTROLLER)


@pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy, a package of Debian, is not installed")
def test_haproxy_takes_its_configuration(tmp_path: Path) -> None:
    text = (DEPLOY / "haproxy.cfg").read_text(encoding="utf-8")
    for number, (said, is_good) in enumerate(((text, True), (text.replace("httpchk", "httpcheck"), False))):
        file = tmp_path / f"{number}.cfg"
        file.write_text(said)
        done = subprocess.run(["haproxy", "-c", "-f", file], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode == 0) is is_good, done.stderr


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda one: f"{one['kind']}-{one['metadata']['name']}")
def test_kubernetes_takes_the_manifests(manifest: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(manifest, version, strict=True)


def test_kubernetes_refuses_what_is_wrong() -> None:
    (controller,) = _documents("controller.yaml")
    controller["spec"]["template"]["spec"]["containers"][0]["enviroment"] = []
    with pytest.raises(kubernetes_validate.ValidationError, match="'enviroment' was unexpected"):
        kubernetes_validate.validate(controller, KUBERNETES[-1], strict=True)


def test_the_controller_runs_twice_and_no_pod_names_a_secret_that_is_not_there() -> None:
    secrets = {one["metadata"]["name"]: set(one["stringData"]) for one in MANIFESTS if one["kind"] == "Secret"}
    (controller,) = _documents("controller.yaml")
    assert controller["spec"]["replicas"] == 2
    for one in MANIFESTS:
        if one["kind"] == "Secret":
            continue
        (container,) = one["spec"]["template"]["spec"]["containers"]
        references = [entry["valueFrom"]["secretKeyRef"] for entry in container["env"] if "valueFrom" in entry]
        assert {reference["name"] for reference in references} >= {"slipway-store", "slipway-airflow-fernet"}
        assert all(reference["key"] in secrets[reference["name"]] for reference in references)


def test_the_values_for_airflows_chart_have_the_settings_and_the_secrets() -> None:
    secrets = {one["metadata"]["name"]: set(one["stringData"]) for one in MANIFESTS if one["kind"] == "Secret"}
    assert "jwt-secret" in secrets[VALUES["jwtSecretName"]]
    assert "fernet-key" in secrets[VALUES["fernetKeySecretName"]]
    assert "api-secret-key" in secrets[VALUES["apiSecretKeySecretName"]]
    assert all(secrets[name] == {"connection"} for name in VALUES["data"].values())
    assert [(one["secretName"], one["secretKey"]) for one in VALUES["secret"]] == [("slipway-store", "url")]
    for section, options in values_to_use(celery=True).items():
        given = VALUES["config"][section.lower()]
        assert {option.lower(): value for option, value in options.items()}.items() <= given.items(), section
    assert VALUES["executor"] == "CeleryExecutor"
    assert "NOT RUN HERE" in (DEPLOY / "kubernetes" / "values.yaml").read_text(encoding="utf-8")
    assert RESULT_BACKEND.partition(".")[0] in VALUES["config"]


def test_the_image_has_the_airflow_of_the_constraints() -> None:
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    pins = CliRunner().invoke(main, ["constraints"]).stdout
    (pin,) = (line for line in pins.splitlines() if line.startswith("apache-airflow=="))
    assert f"FROM docker.io/apache/airflow:{pin.removeprefix('apache-airflow==')}-python3.11\n" in text
    assert str(VALUES["airflowVersion"]) == pin.removeprefix("apache-airflow==")
    assert "NOT RUN HERE" in text
