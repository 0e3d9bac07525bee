"""Sites of a running Slipway on an Ironic of their own, in the PostgreSQL that Slipway runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slipway_cli.embedded.postgres import PostgresCluster
from tests.e2e.running import RunningSlipway
from tests.support.embedded_ironic import EmbeddedIronic


def connect(slipway: RunningSlipway, ironic: EmbeddedIronic, site: str) -> None:
    """Connect a site with an Ironic: its machines are those of its own name as resource class."""
    fields = {"conn_type": "ironic", "host": ironic.url, "port": 0, "login": "slipway", "password": ironic.password}
    extra = {"poll_interval": 0.5, "read_timeout": 10, "resource_class": site}
    slipway.airflow.set_connection(f"slipway_provisioner_{site}", {**fields, "extra": json.dumps(extra)})


@contextmanager
def ironic_of(slipway: RunningSlipway, site: str, folder: Path) -> Iterator[EmbeddedIronic]:
    """Run an Ironic for a site, with its files in this folder; the site is stopped in the end."""
    found = EmbeddedIronic(folder, PostgresCluster(slipway.home).sockets)
    connect(slipway, found, site)
    found.start().wait_ready()
    try:
        yield found
    finally:
        with slipway.open_store() as store:
            store.site_stops.put(site, "its test is over")
        slipway.airflow.remove_connection(f"slipway_provisioner_{site}")
        found.stop()
