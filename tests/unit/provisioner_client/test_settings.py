"""Settings into a client."""

from __future__ import annotations

from contextlib import closing

import pytest
import responses

from provisioner_client.drydock.settings import DrydockSettings, drydock_from_settings, tokens_from_settings
from provisioner_client.drydock.tokens import KeystoneAccount, KeystoneToken, NoToken, StaticToken

ACCOUNT = KeystoneAccount("http://keystone.test/v3", "slipway", "canary", "service")


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        (DrydockSettings("http://h"), NoToken),
        (DrydockSettings("http://h", token=""), NoToken),
        (DrydockSettings("http://h", token="canary"), StaticToken),
        (DrydockSettings("http://h", keystone=ACCOUNT), KeystoneToken),
    ],
)
def test_the_token_source_that_was_asked_for(settings: DrydockSettings, kind: type) -> None:
    with closing(tokens_from_settings(settings)) as tokens:
        assert isinstance(tokens, kind)
    assert "canary" not in repr(settings)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        (DrydockSettings("http://h", token="canary", keystone=ACCOUNT), "not both"),
        (
            DrydockSettings("http://h", keystone=KeystoneAccount("http://k/v3", "u" * 17, "canary", "service")),
            "longer than 16",
        ),
        (DrydockSettings("h:9000"), "http://host:9000"),
        (DrydockSettings("http://h", read_timeout=0), "above 0"),
        (DrydockSettings("http://h", keystone=KeystoneAccount("http://u:canary@k", "u", "canary", "p")), "user or a"),
    ],
)
def test_settings_that_cannot_be_used_say_so_without_secrets(settings: DrydockSettings, match: str) -> None:
    with pytest.raises(ValueError, match=match) as caught:
        drydock_from_settings(settings)
    assert "canary" not in str(caught.value)


def test_settings_reach_the_wire(http: responses.RequestsMock) -> None:
    settings = DrydockSettings("http://h:9000", "canary", None, 2.0, 3.0, "/etc/ca.pem", "Ann", "action-17")
    http.get("http://h:9000/api/v1.0/nodes", json=[])
    with closing(drydock_from_settings(settings)) as drydock:
        drydock.nodes()
    request = http.calls[0].request
    assert request.headers["X-Auth-Token"] == "canary"
    assert request.headers["X-End-User"] == "Ann"
    assert request.headers["X-Context-Marker"] == drydock.context_marker
    assert request.req_kwargs["timeout"] == (2.0, 3.0)  # type: ignore[attr-defined]
    assert request.req_kwargs["verify"] == "/etc/ca.pem"  # type: ignore[attr-defined]
