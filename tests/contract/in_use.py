"""A provisioner of one's own that the suite is pointed at: which one, and a client of it. From the environment.

- ``CONTRACT_URL``: where it is. The machines of the site file are prepared, deployed and destroyed there.
- ``CONTRACT_KEY``: an administrator's API key. With it, it is a MAAS.
- ``CONTRACT_RESOURCE_CLASS``: which nodes the suite sees. With it, it is an Ironic; without either, a Drydock.
- ``CONTRACT_SECONDS``: how long a task may take (1800).

Of a Drydock:

- ``CONTRACT_DESIGNS``: the address, as that Drydock sees it, at which this suite serves its designs, such as
  ``http://10.0.0.5:8099``. Without it they are files (``file://``), for a Drydock on this machine.
- ``CONTRACT_LISTEN``: the address at which this machine serves them, if it is another one, such as ``0.0.0.0``.
- ``CONTRACT_TOKEN``: a Keystone token.

Of a MAAS:

- ``CONTRACT_POOL``, ``CONTRACT_TAG``: what limits the part of MAAS that the suite sees; one of them at least.
- ``CONTRACT_IMAGE``: the image that is deployed (jammy).

Of an Ironic:

- ``CONTRACT_LOGIN``, ``CONTRACT_PASSWORD``: of its user, where it asks for one.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from typing import Any

from provisioner_client.connection import ConnectionValues
from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.ironic.connection import ironic_api
from provisioner_client.ironic.provisioner import IronicProvisioner
from provisioner_client.ironic.tasks.work import TaskSettings
from provisioner_client.maas.api_key import ApiKey
from provisioner_client.maas.provisioner import MaasProvisioner
from provisioner_client.protocol import Provisioner, ProvisionerTask
from provisioner_client.redacting import nothing_is_secret
from provisioner_client.tokens import StaticToken

URL = os.environ.get("CONTRACT_URL", "")
DESIGNS = os.environ.get("CONTRACT_DESIGNS", "")
LISTEN = os.environ.get("CONTRACT_LISTEN", "")
SECONDS = float(os.environ.get("CONTRACT_SECONDS") or 1800) if URL else 15.0
IMAGE = os.environ.get("CONTRACT_IMAGE") or "jammy"
_TOKEN = os.environ.get("CONTRACT_TOKEN", "")
_KEY = os.environ.get("CONTRACT_KEY", "")
_POOL = os.environ.get("CONTRACT_POOL", "")
_TAG = os.environ.get("CONTRACT_TAG", "")
_CLASS = os.environ.get("CONTRACT_RESOURCE_CLASS", "")
BACKEND = "" if not URL else "ironic" if _CLASS else "maas" if _KEY else "drydock"
"""Which provisioner it is; empty: the suite runs against simulators."""


class _OwnReferences:
    """A client of a server that keeps the tasks of earlier runs: the references of this test are its own."""

    def __init__(self, *given: Any, **options: Any) -> None:
        client: Any = super()
        client.__init__(*given, **options)
        self._own = f"-{secrets.token_hex(4)}"

    def submit(self, phase: Any, design: Any, nodes: Any, reference: str, **more: Any) -> str:
        """Submit under a reference of this test."""
        client: Any = super()
        return str(client.submit(phase, design, nodes, reference + self._own, **more))

    def find(self, reference: str) -> ProvisionerTask | None:
        """Look for a reference of this test."""
        client: Any = super()
        found: ProvisionerTask | None = client.find(reference + self._own)
        return found


class _DrydockInUse(_OwnReferences, DrydockProvisioner):
    pass


class _IronicInUse(_OwnReferences, IronicProvisioner):
    pass


class _MaasInUse(_OwnReferences, MaasProvisioner):
    pass


def client_in_use() -> Provisioner:
    """Return a client of that server."""
    if BACKEND == "ironic":
        values = ConnectionValues("ironic", "contract", URL, login=os.environ.get("CONTRACT_LOGIN", ""))
        values = replace(values, password=os.environ.get("CONTRACT_PASSWORD", ""), extra={"resource_class": _CLASS})
        return _IronicInUse(ironic_api(values, nothing_is_secret), TaskSettings())
    if BACKEND == "maas":
        return _MaasInUse(URL, ApiKey.parse(_KEY), pool=_POOL, tag=_TAG)
    return _DrydockInUse(URL, StaticToken(_TOKEN) if _TOKEN else None)
