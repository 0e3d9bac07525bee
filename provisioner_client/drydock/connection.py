"""From a connection of the type ``drydock`` to a client of Drydock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from provisioner_client.connection import ConnectionValues, HttpFields, read_fields
from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.drydock.tokens import KeystoneAccount, KeystoneToken, NoToken, StaticToken
from provisioner_client.http_session import TokenSource
from provisioner_client.redacting import Redact, nothing_is_secret

LONGEST_USER: Final = 16


@dataclass(frozen=True, slots=True)
class DrydockFields(HttpFields):
    """The fields of a connection's extra that this backend reads.

    With `auth_url`, Keystone gives the connection's login a token; `auth_token` is a fixed one.
    """

    auth_token: str | None = field(default=None, repr=False)
    auth_url: str | None = None
    project_name: str | None = None
    user_domain_name: str | None = None
    project_domain_name: str | None = None


def connect_drydock(
    connection: ConnectionValues, redact: Redact, context_marker: str | None = None
) -> DrydockProvisioner:
    """Build a client. Nothing is sent yet.

    Raises `ValueError` when the connection cannot be used, in a sentence without secrets.
    """
    given = read_fields(DrydockFields, connection.extra)
    if not connection.url:
        raise ValueError("it has no Drydock URL")
    return DrydockProvisioner(
        connection.url,
        tokens_of(connection),
        given.settings(connection, redact),
        # All processes wait for the same lists, also those that hurry.
        list_timeout=given.read_timeout,
        lists=connection.shared.lists,
        end_user=connection.login or None,
        context_marker=context_marker,
    )


def tokens_of(connection: ConnectionValues) -> TokenSource:
    """Build the token source that a connection asks for.

    Raises `ValueError` when both kinds of credentials are given, or one is not complete.
    """
    given = read_fields(DrydockFields, connection.extra)
    if given.auth_token and given.auth_url:
        raise ValueError("give a token or a Keystone account, not both")
    if not given.auth_url:
        return StaticToken(given.auth_token) if given.auth_token else NoToken()
    if len(connection.login) > LONGEST_USER:
        raise ValueError(f"Drydock refuses every task of a user whose name is longer than {LONGEST_USER}")
    account = KeystoneAccount(
        given.auth_url,
        connection.login,
        connection.password,
        given.project_name or "service",
        given.user_domain_name or "Default",
        given.project_domain_name or "Default",
    )
    return KeystoneToken(account, given.settings(connection, nothing_is_secret))
