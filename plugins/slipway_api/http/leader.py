"""Requests that only the controller that leads may make: it proves that by its lease, which no answer ever shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from site_engine.controller.controller import NAME
from slipway_api.http.api_errors import ApiError

if TYPE_CHECKING:
    from site_store import SiteStore


class Leader(BaseModel):
    """The lease of the controller that asks."""

    owner: str = Field(max_length=500)
    epoch: int = Field(ge=0)


def require_leader(store: SiteStore, leader: Leader, name: str = NAME) -> None:
    """Refuse (403) all but the controller that holds the lease of this name."""
    held = store.leases.get(name)
    if held is None or (held.owner, held.epoch) != (leader.owner, leader.epoch) or held.expires_at <= store.now():
        raise ApiError(403, "only the controller that leads may ask for this")
