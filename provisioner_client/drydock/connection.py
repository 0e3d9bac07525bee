"""From a connection of the type ``drydock`` to a client of Drydock."""

from __future__ import annotations

from typing import Final

from provisioner_client.connection import ConnectionValues, read_fields
from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.http_session import TokenSource
from provisioner_client.redacting import Redact
from provisioner_client.tokens import TokenFields

LONGEST_USER: Final = 16


def connect_drydock(
    connection: ConnectionValues, redact: Redact, context_marker: str | None = None
) -> DrydockProvisioner:
    """Build a client. Nothing is sent yet.

    Raises `ValueError` when the connection cannot be used, in a sentence without secrets.
    """
    given = read_fields(TokenFields, connection.extra)
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
    """Build the token source that a connection asks for. Raises `ValueError` as `TokenFields.tokens`."""
    given = read_fields(TokenFields, connection.extra)
    if given.auth_url and len(connection.login) > LONGEST_USER:
        raise ValueError(f"Drydock refuses every task of a user whose name is longer than {LONGEST_USER}")
    return given.tokens(connection)
