"""The link from Airflow's page of a task to its place in the status tree, as Airflow's own API gives it."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from site_store import SiteStore
from tests.integration.api.airflow_runs import AirflowRuns, commit, create, run_of

pytestmark = pytest.mark.usefixtures("dags", "connected")


def links(origin: str, token: str, run: str, task: str, map_index: int = -1) -> dict[str, str | None]:
    """Return the extra links of a task."""
    answer = httpx.get(
        f"{origin}/api/v2/dags/deploy_site/dagRuns/{run}/taskInstances/{task}/links",
        params={"map_index": map_index},
        headers={"Authorization": f"Bearer {token}"},
    ).raise_for_status()
    found: dict[str, str | None] = answer.json()["extra_links"]
    return found


def test_a_task_that_has_not_begun_leads_to_its_place_in_the_tree(
    user: httpx.Client, store: SiteStore, origin: str, tokens: dict[str, str]
) -> None:
    commit(store)
    run = run_of(create(user)["id"])
    link = urlsplit(links(origin, tokens["viewer"], run, "plan_groups")["Slipway"] or "")
    assert (link.netloc, link.path) == ("", "/plugin/slipway/slipway/ui/run")
    assert parse_qs(link.query) == {"dag_id": ["deploy_site"], "run_id": [run], "task_id": ["plan_groups"]}


def test_a_groups_task_leads_to_its_group(
    user: httpx.Client, store: SiteStore, origin: str, tokens: dict[str, str], airflow_runs: AirflowRuns
) -> None:
    commit(store)
    run = run_of(create(user)["id"])
    airflow_runs.begin(run, "deploy_group", "running", map_index=0)
    link = urlsplit(links(origin, tokens["viewer"], run, "deploy_group", 0)["Slipway"] or "")
    assert parse_qs(link.query)["map_index"] == ["0"]
