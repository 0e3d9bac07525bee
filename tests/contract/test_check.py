"""Contract: `check` tells whether the provisioner can be used, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from provisioner_client.errors import AuthenticationFailed, ProvisionerUnavailable
from provisioner_client.protocol import Provisioner
from provisioner_client.tokens import StaticToken
from tests.contract.servers import ContractDrydock

Connect = Callable[..., Provisioner]


def test_check_answers_a_sentence_and_leaves_no_tasks(simulator: ContractDrydock, provisioner: Provisioner) -> None:
    sentence = provisioner.check()
    assert simulator.url in sentence
    assert sentence.endswith(".")
    assert simulator.tasks() == []
    assert simulator.get("state").get("tasks", 0) == 0
    assert not simulator.get("journal", path="/api/v1.0/health")


def test_check_answers_a_sentence(provisioner: Provisioner) -> None:
    assert "accepts the credentials" in provisioner.check()


def test_check_of_nobody(connect: Connect) -> None:
    with pytest.raises(ProvisionerUnavailable, match="no connection"):
        connect("http://127.0.0.1:9").check()


@pytest.mark.drydock_alone("MAAS has no tokens")
def test_check_with_and_without_the_right_token(mortal: ContractDrydock, connect: Connect) -> None:
    mortal.start("--token", "right-canary")
    assert connect(mortal.address, tokens=StaticToken("right-canary")).check()
    for tokens in (None, StaticToken("wrong-canary")):
        with pytest.raises(AuthenticationFailed) as caught:
            connect(mortal.address, tokens=tokens).check()
        assert "canary" not in str(caught.value)
