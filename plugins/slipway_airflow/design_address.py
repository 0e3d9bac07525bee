"""Where the provisioner finds a revision's documents. The address is a secret: whoever knows it can read the design."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk.log import mask_secret

from site_engine.errors import StepError
from slipway_airflow.airflow_settings import airflow_base_url
from slipway_airflow.settings import design_base_url

if TYPE_CHECKING:
    from site_store import ActionRecord, SiteStore
    from slipway_airflow.settings import ConnectionSettings

# Drydock's column; a longer reference is a 500 there.
_LONGEST = 128


def design_address(store: SiteStore, action: ActionRecord, settings: ConnectionSettings) -> str:
    """Return the address of the action's revision; kept out of logs, and never put on XCom.

    Raises
    ------
    StepError
        It is longer than Drydock takes.
    """
    return address_of(masked_token(store, action), settings, action.design_fetch)


def masked_token(store: SiteStore, action: ActionRecord) -> str:
    """Return the token of the action's revision; from here on it is kept out of this task's log."""
    token = store.revision(action.site, action.revision).design_token
    mask_secret(token)
    return token


def address_of(token: str, settings: ConnectionSettings, fetch: int = 0) -> str:
    """Return an address that a token opens.

    Parameters
    ----------
    fetch
        Another one for each number: the provisioner never asks again at an address at which it once got nothing.

    Raises
    ------
    StepError
        It is longer than Drydock takes.
    """
    address = f"{design_base_url(settings, airflow_base_url())}/slipway/d/{token}" + (f"?n={fetch}" if fetch else "")
    if len(address) > _LONGEST:
        raise StepError(
            f"the design's address would be {len(address)} characters, and Drydock takes {_LONGEST}: "
            "set a shorter 'Slipway URL' on the provisioner's connection"
        )
    return address
