"""One real Ironic for all tests of a process; each test has nodes of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.embedded_ironic import EmbeddedIronic, running_ironic
from tests.support.ironic_sites import IronicTestSite


@pytest.fixture(scope="session")
def ironic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedIronic]:
    """A real Ironic in which nothing takes long."""
    with running_ironic(tmp_path_factory.mktemp("ironic")) as running:
        yield running


@pytest.fixture
def site(ironic: EmbeddedIronic) -> IronicTestSite:
    """A site without nodes; nothing fails."""
    ironic.play()
    return IronicTestSite(ironic)
