"""The API's description is exact: what it says of every operation, and what the API then does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema
import pytest
import requests
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from site_store import SiteStore
from slipway_api.http.answers import YAML_TYPE
from tests.integration.api.airflow_runs import commit, create, plan
from tests.integration.api.http.described import application, operations, strict
from tests.integration.api.http.test_access import NAMES


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    return application().openapi()


def test_every_answer_has_a_schema_and_every_example_is_as_its_schema_says(description: dict[str, Any]) -> None:
    without = []
    for name, operation in operations().items():
        for status, answer in operation["responses"].items():
            assert answer["description"]
            for media, content in answer.get("content", {}).items():
                schema = content.get("schema")
                if not schema and media != YAML_TYPE:
                    without.append(f"{name} {status} {media}")
                elif "example" in content and media == "application/json":
                    whole = {**schema, "components": description["components"]}
                    jsonschema.validate(content["example"], whole)
    assert without == []


def _references(value: Any) -> Iterator[str]:
    for key, child in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if key == "$ref":
            yield child
        yield from _references(child)


def test_every_reference_of_the_description_leads_to_a_schema(description: dict[str, Any]) -> None:
    def leads_nowhere(reference: str) -> bool:
        found: Any = description
        for name in reference.removeprefix("#/").split("/"):
            found = found.get(name, {}) if isinstance(found, dict) else {}
        return not found

    references = set(_references(description))
    assert len(references) > 50
    assert {reference for reference in references if leads_nowhere(reference)} == set()


def test_only_what_judges_or_asks_the_provisioner_has_a_bad_gateway() -> None:
    found = {name for name, operation in operations().items() if "502" in operation["responses"]}
    assert found == {
        "POST /api/v1.0/actions/plan",
        "POST /api/v1.0/commitconfigdocs",
        "POST /api/v1.0/revisions/{number}/rollback",
        "POST /api/v1.0/actions",
        "GET /api/v1.0/provisioner",
        "GET /api/v1.0/imports/{provisioner}",
        "GET /api/v1.0/site_statuses",
    }


def _known(store: SiteStore, user: httpx.Client, viewer: httpx.Client) -> dict[str, dict[str, Any]]:
    """Return what there is, for each operation that is about one thing: its parameters of the path."""
    commit(store, times=2)
    action = str(create(user, query="?allow-intermediate-commits=true")["id"])
    plan(store, action)
    store.events.add("default", "remark", "the fans are loud", action_id=action, data={"rpm": 9000})
    described = viewer.get(f"/api/v1.0/actions/{action}").json()
    workflows = viewer.get("/api/v1.0/workflows").json()
    run = store.actions.get(action).run_id
    (workflow,) = [one["workflow_id"] for one in workflows if one["run_id"] == run]
    return {
        "{action_id}": {"action_id": action, "step": "acquire"},
        "{collection}": {"collection": "site"},
        "{dag_id}": {"dag_id": "deploy_site", "run_id": run},
        "{note_id}": {"note_id": described["notes"][-1]["note_id"]},
        "{number}": {"number": 1},
        "{workflow_id}": {"workflow_id": workflow},
    }


@pytest.mark.usefixtures("dags", "connected")
@pytest.mark.parametrize(
    "examples",
    [pytest.param(5, marks=pytest.mark.endurance, id="few"), pytest.param(50, marks=pytest.mark.soak, id="many")],
)
@pytest.mark.parametrize("route", NAMES)
def test_the_api_does_what_its_description_says(
    route: str,
    examples: int,
    origin: str,
    tokens: dict[str, str],
    store: SiteStore,
    user: httpx.Client,
    viewer: httpx.Client,
) -> None:
    """Ask every operation, as described and as often not as described, about what there is and what there is not."""
    # To import it takes as long as all else here: it is only for `make endurance`.
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    method, path = route.split(" ")
    place = next((values for name, values in _known(store, user, viewer).items() if name in path), None)
    schema = schemathesis.openapi.from_dict(strict(viewer.get("/openapi.json").json()))
    operation = schema[path][method]
    strategies = [operation.as_strategy(), operation.as_strategy(GenerationMode.NEGATIVE)]
    if place is not None:
        strategies.append(operation.as_strategy(path_parameters=place))
    wanted: list[Any] = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_headers_conformance,
        checks.response_schema_conformance,
    ]
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {tokens['admin']}"

        @settings(
            max_examples=examples * len(strategies),
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(st.one_of(strategies), st.booleans())
        def ask(case: Any, of_the_default_site: bool) -> None:
            # Airflow's own router takes no path with a line break for Slipway's, and answers by itself.
            assume("%0A" not in case.formatted_path)
            if of_the_default_site and isinstance(case.query, dict):
                case.query.pop("site", None)
            answer = case.call(base_url=f"{origin}/slipway", session=session, timeout=60, allow_redirects=False)
            case.validate_response(answer, checks=wanted)

        ask()
