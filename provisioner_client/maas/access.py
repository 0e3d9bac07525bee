"""Whether MAAS answers and accepts the key, and whether its account may do what is needed."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from provisioner_client.errors import AuthenticationFailed
from provisioner_client.maas.api import MaasApi
from provisioner_client.maas.api_key import LARGEST_SKEW


def check_access(api: MaasApi, url: str) -> str:
    """Say so, and that MAAS has what limits the site.

    Raises `AuthenticationFailed`: also for an account that is no administrator, and where the clocks differ by so much
    that MAAS refuses every key.
    """
    version, date = api.version()
    try:
        account = api.whoami()
    except AuthenticationFailed as refusal:
        skew = _skew(date)
        if refusal.status == 401 and abs(skew) > LARGEST_SKEW:
            said = f"MAAS's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this machine's"
            limit = f"it refuses every request that is over {LARGEST_SKEW:.0f} s old"
            raise AuthenticationFailed(f"{said}, and {limit}: synchronize the clocks", status=401) from None
        raise
    if not account.get("is_superuser"):
        raise AuthenticationFailed(
            f"the account {account['username']} is no administrator of MAAS, and so cannot commission machines"
        )
    api.confirm_limits()
    return (
        f"MAAS {version['version']} at {url} answers (API 2.0) and accepts the credentials of the "
        f"administrator {account['username']}; the site is {api.limits}."
    )


def _skew(date: str) -> float:
    """Return how many seconds a server's clock is ahead; 0 where its answer does not say."""
    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, TypeError, IndexError):
        return 0.0
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
