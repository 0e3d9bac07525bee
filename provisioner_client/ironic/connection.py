"""From a connection of the type ``ironic`` to a client of Ironic."""

from __future__ import annotations

from dataclasses import dataclass

from requests.auth import HTTPBasicAuth

from provisioner_client.connection import ConnectionValues, read_fields
from provisioner_client.http_session import HttpSession
from provisioner_client.http_settings import checked_url
from provisioner_client.ironic.api import VERSION_HEADER, IronicApi, is_ironic, version_needed
from provisioner_client.ironic.inventory import LabelWords
from provisioner_client.ironic.limits import Limits
from provisioner_client.ironic.provisioner import IronicProvisioner
from provisioner_client.ironic.tasks.work import TaskSettings
from provisioner_client.redacting import Redact
from provisioner_client.tokens import NoToken, TokenFields


@dataclass(frozen=True, slots=True)
class IronicFields(TokenFields):
    """The fields of a connection's extra that this backend reads.

    With `auth_url`, Keystone gives the connection's login a token; `auth_token` is a fixed one. Without either, login
    and password are sent as they are (`http_basic`); without a login, nothing is (`noauth`).

    `conductor_group`, `owner`, `lessee`, `resource_class`, `shard`, and `extra_key` with `extra_value` limit the site's
    part of Ironic: those of them that are given count together, and one must be given. `label_sources` says which
    labels are words of a node, as in ``class=resource_class,hall=extra.hall``; `rack_source` which word is its rack.
    `inspect`: nodes that are manageable are inspected before they are made available. `default_image` and
    `default_checksum` are for nodes whose design has no image.
    """

    read_timeout: float = 60.0
    conductor_group: str | None = None
    owner: str | None = None
    lessee: str | None = None
    resource_class: str | None = None
    shard: str | None = None
    extra_key: str | None = None
    extra_value: str | None = None
    label_sources: str | None = None
    rack_source: str = "extra.rack"
    parallel_nodes: float = 50.0
    inspect: bool = False
    default_image: str | None = None
    default_checksum: str | None = None

    def limits(self) -> Limits:
        """Return what limits the site. Raises `ValueError`: nothing does."""
        given = (self.conductor_group, self.owner, self.lessee, self.resource_class, self.shard)
        return Limits(*((one or "").strip() for one in (*given, self.extra_key, self.extra_value)))


def ironic_api(connection: ConnectionValues, redact: Redact) -> IronicApi:
    """Build what sends requests to Ironic. Nothing is sent yet.

    Raises `ValueError` when the connection cannot be used, in a sentence without secrets.
    """
    given = read_fields(IronicFields, connection.extra)
    if not connection.url:
        raise ValueError("it has no Ironic URL")
    limits, tokens = given.limits(), given.tokens(connection)
    is_basic = type(tokens) is NoToken and bool(connection.login)
    if is_basic and ":" in connection.login:
        raise ValueError("the user must not have a colon: what is behind it would be taken for the password")
    version = ".".join(map(str, version_needed(limits)))
    http = HttpSession(
        checked_url(connection.url).removesuffix("/v1"),
        given.settings(connection, redact),
        tokens=tokens,
        secrets=(lambda: (connection.password,)) if is_basic and connection.password else None,
        headers={VERSION_HEADER: version},
        auth=HTTPBasicAuth(connection.login.encode(), connection.password.encode()) if is_basic else None,
        is_own=is_ironic,
    )
    return IronicApi(http, limits)


def connect_ironic(
    connection: ConnectionValues, redact: Redact, context_marker: str | None = None
) -> IronicProvisioner:
    """Build a client. Nothing is sent yet.

    Raises `ValueError` when the connection cannot be used, in a sentence without secrets.
    """
    given = read_fields(IronicFields, connection.extra)
    if given.parallel_nodes < 1 or given.parallel_nodes != int(given.parallel_nodes):
        raise ValueError("connection field parallel_nodes must be a whole number, 1 or more")
    settings = TaskSettings(
        int(given.parallel_nodes),
        given.inspect,
        # A request that a patient client has sent may still take effect for as long as that one waits.
        given.read_timeout,
        words=LabelWords.parse(given.label_sources or "", given.rack_source),
        image=given.default_image or "",
        checksum=given.default_checksum or "",
        # Who sees other nodes, by another login, does not get the same list.
        asked_by=f" for {connection.login}" if connection.login else "",
    )
    return IronicProvisioner(ironic_api(connection, redact), settings, connection.shared)
