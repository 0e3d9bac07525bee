"""One authenticated call of MAAS's API, as the handlers of its routes get it."""

from __future__ import annotations

from dataclasses import dataclass

from provisioner_client.simulator.maas.http.answers import Form, forbidden
from provisioner_client.simulator.maas.http.auth import User


@dataclass(frozen=True, slots=True)
class Call:
    """`query` and `form` hold all values of each parameter."""

    user: User
    query: Form
    form: Form

    def need_admin(self) -> None:
        """Raise `Refused` (403) if the user is no administrator."""
        if not self.user.is_admin:
            raise forbidden()
