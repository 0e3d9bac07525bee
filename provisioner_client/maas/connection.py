"""From a connection of the type ``maas`` to a client of MAAS."""

from __future__ import annotations

from dataclasses import dataclass

from provisioner_client.connection import ConnectionValues, HttpFields, read_fields
from provisioner_client.maas.api_key import ApiKey
from provisioner_client.maas.inventory import LabelWords
from provisioner_client.maas.provisioner import MaasProvisioner
from provisioner_client.maas.tasks.driver import TaskSettings
from provisioner_client.maas.tasks.machine_acts import ERASE
from provisioner_client.redacting import Redact


@dataclass(frozen=True, slots=True)
class MaasFields(HttpFields):
    """The fields of a connection's extra that this backend reads.

    The API key is the connection's password. `pool` and `tag` limit the site's part of MAAS. `label_sources` says which
    labels are no tags, as in ``zone=zone,arch=architecture``.
    """

    read_timeout: float = 120.0
    pool: str | None = None
    tag: str | None = None
    label_template: str = "{key}__{value}"
    label_sources: str | None = None
    rack_source: str = "zone"
    parallel_deploys: float = 8.0
    recommission: bool = True
    erase: str = "none"
    default_image: str | None = None


def connect_maas(connection: ConnectionValues, redact: Redact, context_marker: str | None = None) -> MaasProvisioner:
    """Build a client. Nothing is sent yet.

    Raises `ValueError` when the connection cannot be used, in a sentence without secrets.
    """
    given = read_fields(MaasFields, connection.extra)
    if not connection.url:
        raise ValueError("it has no MAAS URL")
    if not connection.password.strip():
        raise ValueError("it has no API key: give it as the password")
    if given.erase not in ERASE:
        raise ValueError(f"disks are erased in one of these ways: {', '.join(ERASE)}")
    if given.parallel_deploys < 1 or given.parallel_deploys != int(given.parallel_deploys):
        raise ValueError("connection field parallel_deploys must be a whole number, 1 or more")
    words = LabelWords.parse(given.label_template, given.label_sources or "", given.rack_source)
    settings = TaskSettings(
        parallel=int(given.parallel_deploys),
        recommission=given.recommission,
        # A request that a patient client has sent may still take effect for as long as that one waits.
        settle=given.read_timeout,
        words=words,
        image=given.default_image or "",
        erase=given.erase,
    )
    return MaasProvisioner(
        connection.url,
        ApiKey.parse(connection.password),
        pool=(given.pool or "").strip(),
        tag=(given.tag or "").strip(),
        settings=settings,
        http=given.settings(connection, redact),
        shared=connection.shared,
    )
