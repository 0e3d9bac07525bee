"""Documents of Slipway's own through the API: where they do not fit, a commit says so; user data is shown nowhere."""

from __future__ import annotations

import httpx

from tests.support.configdocs import API, assert_failure, commit, put, said
from tests.support.simulators import Simulator

DESIGN = """\
schema: slipway/Site/v1
metadata: {name: fra1}
data: {provisioner: maas}
---
schema: slipway/Node/v1
metadata: {name: n1}
data: {user_data: first-boot, tags: ['bad tag']}
---
schema: slipway/UserData/v1
metadata: {name: first-boot, storagePolicy: cleartext}
data: {content: 'password: %s'}
"""


def test_on_another_provisioner_a_commit_says_so_and_nothing_shows_user_data(
    connected: Simulator, user: httpx.Client, viewer: httpx.Client
) -> None:
    put(user, DESIGN % "hunter2")
    answer = commit(user)
    assert_failure(answer, 400)
    errors = said(answer)
    assert [text for text in errors if "$.data.provisioner: the site's connection leads to Drydock" in text]
    assert [text for text in errors if "slipway/Node/v1 is for MAAS" in text]
    assert [text for text in errors if "site:7: $.data.tags[0]: must be a tag of letters, digits, - and _" in text]
    first = commit(user, force="true")
    assert first.status_code == 200, first.text
    put(user, DESIGN % "hunter3")
    second = commit(user, force="true")
    assert second.status_code == 200, second.text
    numbers = [one.json()["revision"] for one in (first, second)]
    answers = [answer, first, second]
    for path in (
        "configdocs/site?version=committed",
        "renderedconfigdocs?version=committed",
        f"diff/configdocs?from={numbers[0]}&to={numbers[1]}",
        f"diff/configdocs?from={numbers[0]}&to={numbers[1]}&rendered=true",
        f"revisions/{numbers[1]}",
        "sites/default/plan",
    ):
        answers.append(viewer.get(f"{API}/{path}"))
    assert "hunter" not in "".join(one.text for one in answers)
    shown = viewer.get(f"{API}/diff/configdocs?from={numbers[0]}&to={numbers[1]}").json()
    (change,) = shown["documents"]
    assert (change["name"], change["change"]) == ("first-boot", "modified")
