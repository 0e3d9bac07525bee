"""The address `/slipway/clustercontroller-status/v1/`: it leads to the pages."""

from __future__ import annotations

import httpx

from site_store import SiteStore
from tests.integration.api.airflow_runs import DESIGN
from tests.integration.api.http.test_service import assert_failure
from tests.integration.api.pages.conftest import UI
from tests.support.revisions import commit_design

STATUS = "/clustercontroller-status/v1"


def test_it_leads_to_the_sites_and_to_the_nodes_of_one(
    viewer: httpx.Client, anonymous: httpx.Client, store: SiteStore
) -> None:
    commit_design(store, "north", DESIGN)
    assert anonymous.get(f"{STATUS}/").status_code == 401
    for path, there in ((f"{STATUS}/", f"{UI}/"), (f"{STATUS}/north/", f"{UI}/sites/north/states")):
        answer = viewer.get(path)
        assert (answer.status_code, answer.headers["location"]) == (303, there)
        without = viewer.get(path.rstrip("/"))
        assert (without.status_code, without.headers["location"]) == (307, f"/slipway{path}")


def test_a_site_that_does_not_exist_has_the_nearest_named(viewer: httpx.Client, store: SiteStore) -> None:
    commit_design(store, "north", DESIGN)
    assert_failure(viewer.get(f"{STATUS}/nroth/"), 404, "there is no site 'nroth'; did you mean 'north'?")
