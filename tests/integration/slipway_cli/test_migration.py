"""A home says where its store is; one of a build before the first release is refused, and left as it is."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from site_store import SiteStore
from slipway_cli import SlipwayCliError
from slipway_cli.embedded.component import note_store, refuse_former_home, upgrade_store
from slipway_cli.embedded.postgres import AIRFLOW, STORE
from slipway_cli.embedded.settings import EmbeddedSettings
from tests.support.postgres import running_server


def test_a_new_home_gets_an_empty_store_beside_airflows_database(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    settings = EmbeddedSettings.from_environment(home, 0, {})
    with running_server(home) as (cluster, _):
        step = upgrade_store(settings, dict(os.environ) | {"SLIPWAY_DATABASE_URL": cluster.url(STORE)})
        while not step.is_over():
            time.sleep(0.02)
        note_store(settings, cluster.url(STORE))
        with SiteStore.open((home / "store.url").read_text()) as store:
            assert store.sites.committed() == []
        assert cluster.url(AIRFLOW) != cluster.url(STORE)
        note_store(EmbeddedSettings.from_environment(home, 0, {"SLIPWAY_DATABASE_URL": "postgresql://h/d"}), "")
    assert not (home / "store.url").exists(), "the user names another database"


def test_a_home_of_the_builds_that_kept_a_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "slipway.db").write_bytes(b"a store")
    with pytest.raises(SlipwayCliError, match=r"before Slipway's first release.* start with another SLIPWAY_HOME"):
        refuse_former_home(EmbeddedSettings.from_environment(tmp_path, 0, {}))
    refuse_former_home(EmbeddedSettings.from_environment(tmp_path, 0, {"SLIPWAY_DATABASE_URL": "postgresql://h/d"}))
    assert (tmp_path / "slipway.db").read_bytes() == b"a store"
