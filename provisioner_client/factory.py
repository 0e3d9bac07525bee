"""Which backend speaks for which type of connection. Every provisioner that is made here redacts.

A new backend is a package beside the others, and a row of `FACTORY`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from provisioner_client.connection import ConnectionValues, secrets_of
from provisioner_client.drydock.connection import connect_drydock
from provisioner_client.ironic.connection import connect_ironic
from provisioner_client.maas.connection import connect_maas
from provisioner_client.protocol import Provisioner
from provisioner_client.redacting import FetchesTokens, Observer, Redact, RedactingProvisioner, without
from provisioner_client.site_documents import HasInventory

Backend: TypeAlias = Callable[[ConnectionValues, Redact, str | None], Provisioner]
"""Builds a client from a connection, what redacts the backend's own log, and a name for the provisioner's log.

It sends nothing yet, and raises ``ValueError`` for values that it cannot use, in a sentence without secrets.
"""


class ProvisionerFactory:
    """Makes provisioners from connections.

    Parameters
    ----------
    rows : by the type of connection: what people call its backend, and the backend. The first row is for connections
        whose type says nothing.
    """

    def __init__(self, rows: Mapping[str, tuple[str, Backend]]) -> None:
        self._rows = rows

    @property
    def types(self) -> tuple[str, ...]:
        """All types of connections that have a backend."""
        return tuple(sorted(self._rows))

    @property
    def names(self) -> tuple[str, ...]:
        """What people call the backends, in the order of their rows."""
        return tuple(dict.fromkeys(name for name, _ in self._rows.values()))

    def used_type(self, kind: str) -> str:
        """Return the type itself where it has a backend, else the first row's."""
        return kind if kind in self._rows else next(iter(self._rows))

    def name(self, kind: str) -> str:
        """Return what people call the backend that `used_type` leads to."""
        return self._rows[self.used_type(kind)][0]

    def connect(
        self,
        connection: ConnectionValues,
        redact: Redact,
        context_marker: str | None = None,
        observer: Observer | None = None,
    ) -> RedactingProvisioner:
        """Return a new client, which the caller closes. Nothing is sent yet.

        Parameters
        ----------
        redact : takes what is secret in the design out of a text. It is called for what the provisioner says only, and
            may be slow. What is secret in the connection is taken out besides.
        context_marker : appears with every request in the provisioner's log, where it has such a thing.
        observer : is told of each call, and of the references in each answer; None: nobody is.

        Raises
        ------
        ValueError : no backend speaks for connections of this type, or the backend cannot use the connection's values.
        """
        if connection.type not in self._rows:
            known = ", ".join(self.types)
            raise ValueError(f"no provisioner has connections of the type {connection.type!r}: choose {known}")
        redact = without(secrets_of(connection), redact)
        if observer is not None:
            connection = replace(connection, shown=observer.shown)
        made = self._rows[connection.type][1](connection, redact, context_marker)
        secrets = made.secrets if isinstance(made, FetchesTokens) else tuple
        return RedactingProvisioner(made, redact, secrets, observer)


FACTORY: Final = ProvisionerFactory(
    {
        "drydock": ("Drydock", connect_drydock),
        "maas": ("MAAS", connect_maas),
        "ironic": ("Ironic", connect_ironic),
        # Connections that are written as a URL, or were made before the type counted.
        "http": ("Drydock", connect_drydock),
        "https": ("Drydock", connect_drydock),
        "generic": ("Drydock", connect_drydock),
    }
)

IMPORTED: Final[Mapping[str, Callable[[ConnectionValues, Redact, str | None], HasInventory]]] = {
    "maas": connect_maas,
    "ironic": connect_ironic,
}
"""The backends whose machines documents can be made from, by the type of connection. They do not redact."""
