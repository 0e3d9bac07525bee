"""An Airflow of responses, and a session with it."""

from collections.abc import Iterator

import pytest
import responses

from api_client.session import ApiSession

URL = "http://127.0.0.1:1"


RUN = f"{URL}/api/v2/dags/deploy_site/dagRuns/r%2F1"


@pytest.fixture
def wire() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock() as mock:
        yield mock


@pytest.fixture
def session(wire: responses.RequestsMock) -> ApiSession:
    wire.post(f"{URL}/auth/token", json={"access_token": "first"}, status=201)
    return ApiSession(URL + "/", "admin", "secret")
