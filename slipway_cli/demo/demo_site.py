"""The demo's site in the store: watched while its simulator is there, stopped from then on, and taken away at last.

A demo that is killed can say nothing more. So it says from the beginning that the site is stopped in a while, and puts
that off again and again for as long as it lives.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from slipway_cli import SlipwayCliError

if TYPE_CHECKING:
    from site_store import SiteStore
    from slipway_cli.embedded.settings import EmbeddedSettings

STOPPED: Final = "demo: simulator stopped"
"""Why nobody watches the site."""
GIVEN_UP_AFTER: Final = 30.0
"""Seconds after which the site of a demo that was killed is stopped."""
_EVERY: Final = 5.0


@contextlib.contextmanager
def demo_store(settings: EmbeddedSettings) -> Iterator[SiteStore]:
    """Open the store of the Airflow that runs in a home. Raises `SlipwayCliError`: it cannot be opened, or used."""
    from site_store import SiteStore, StoreError
    from site_store.sql.address import URL_FILE

    try:
        url = settings.database_url or (settings.home / URL_FILE).read_text(encoding="utf-8").strip()
        with SiteStore.open(url) as store:
            yield store
    except (StoreError, OSError) as error:
        raise SlipwayCliError(f"Slipway's store in {settings.home}: {error}") from error


@contextlib.contextmanager
def watched(
    store: SiteStore, site: str, every: float = _EVERY, given_up_after: float = GIVEN_UP_AFTER
) -> Iterator[None]:
    """Have a site watched within the context, and stopped after it, also where this process does not get that far.

    Raises `StoreError`: it could not be said at the beginning.
    """
    from site_engine.process import repeated
    from site_store import StoreError

    put_off = partial(store.site_stops.put, site, STOPPED, given_up_after)
    put_off()
    try:
        with repeated(put_off, every, "demo-site"):
            yield
    finally:
        # If the store does not answer any more, the time runs out.
        with contextlib.suppress(StoreError):
            store.site_stops.put(site, STOPPED)


def remove_site(store: SiteStore, site: str) -> bool:
    """Take a demo's site away; False where there is none. Raises `SlipwayCliError`: it is no demo's, or in use."""
    from site_store.designs.site_stops import SiteInUse

    if not store.sites.exists(site):
        return False
    try:
        store.site_stops.remove_site(site)
    except SiteInUse as error:
        hint = f"A demo that was killed is given up after {GIVEN_UP_AFTER:.0f} s"
        raise SlipwayCliError(f"{error}. {hint}") from error
    return True
