"""From machines in MAAS to a deployed site: import, edit, commit, deploy, with a real Airflow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from design_rendering.reading.documents import load_documents
from strategy_lib.parsing.configuration import CONFIGURATION_SCHEMA
from tests.conftest import ROOT
from tests.e2e.walking import SLIPWAY, Walker, two_terminals
from tests.support.deviations import holding_variables

EXAMPLE = ROOT / "slipway_cli" / "data" / "example_maas_site.yaml"
FAILED = "r1-compute-07"
UP = [SLIPWAY, "up", "--simulator", "--provisioner", "maas", "--speed", "3000", "--fail", f"deploy:{FAILED}"]
REASON = "Failed deployment: Installation failed (refer to the installation log for more information)."


@pytest.fixture(scope="module")
def walker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walker]:
    with two_terminals(tmp_path_factory.mktemp("maas"), UP, variables=holding_variables()) as walker:
        yield walker


@pytest.mark.endurance
@pytest.mark.timeout(900)
def test_what_was_imported_is_deployed(walker: Walker, tmp_path: Path) -> None:
    walker.types(f"{SLIPWAY} login --user admin", f"{walker.runtime.password('admin')}\n")
    folder = tmp_path / "site"
    said = walker.types(f"{SLIPWAY} import maas --directory {folder}")
    assert "40 machines written to" in said
    # As a person would: the image, and how often to look. Who waits for whom is left open here.
    site = folder / "site.yaml"
    text = site.read_text()
    assert "data: {provisioner: maas}\n" in text
    site.write_text(
        text.replace("{provisioner: maas}", "{provisioner: maas, defaults: {image: ubuntu/noble}}") + configuration()
    )
    walker.types(f"{SLIPWAY} validate {folder}/site.yaml {folder}/nodes.yaml {folder}/strategy.yaml")
    walker.types(f"{SLIPWAY} create configdocs design --directory {folder} --site walk")
    assert "revision 1" in walker.types(f"{SLIPWAY} commit configdocs --site walk")
    followed = walker.types(f"{SLIPWAY} create action deploy_site --site walk --follow")
    assert "SUCCESS" in followed
    statuses = walker.types(f"{SLIPWAY} get site-statuses --site walk")
    assert (statuses.count("Deployed"), statuses.count("Failed deployment"), statuses.count("Ready")) == (39, 1, 0)
    # The one that fails is told by its status's name and in MAAS's words, wherever one looks.
    action = re.findall(r"action/(\w+)", followed)[0]
    for command in (
        f"report action/{action}",
        f"report action/{action} -o html",
        f"describe node/{FAILED} --site walk",
    ):
        assert REASON in " ".join(walker.types(f"{SLIPWAY} {command}").split()), command


def configuration() -> str:
    """Return the example's configuration, as it is written there."""
    text = EXAMPLE.read_text()
    (document,) = [one for one in load_documents(text) if one.schema == CONFIGURATION_SCHEMA]
    assert document.marks is not None
    start, end = document.marks.span
    return f"---\n{text[start:end]}"
