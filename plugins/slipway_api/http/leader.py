"""Requests that only the controller that leads may make: it proves that by the secret of its lease.

Owner and epoch of a lease are public. The routes ask for the right to act on the site besides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from site_engine.controller.controller import NAME
from slipway_api.http.api_errors import ApiError

if TYPE_CHECKING:
    from site_store import SiteStore


class Leader(BaseModel):
    """The lease of the controller that asks: its epoch, and the secret that was made when it was taken."""

    epoch: int = Field(ge=0)
    secret: str = Field(max_length=200)


def require_leader(store: SiteStore, leader: Leader, name: str = NAME) -> None:
    """Refuse (403) all but the controller that holds the lease of this name (rule 55)."""
    if not store.leases.holds(name, leader.epoch, leader.secret):
        raise ApiError(403, "only the controller that leads may ask for this")
