"""What the check of a connection to Ironic says: whether it can be used, and which nodes are the site's."""

from __future__ import annotations

from provisioner_client.errors import ProvisionerUnavailable
from provisioner_client.ironic.api import IronicApi


def check_access(api: IronicApi) -> str:
    """Say whether Ironic answers, speaks a version that will do, accepts the credentials, and how many nodes it shows.

    Raises `ProvisionerError`: one of these is not so.
    """
    url = api.http.base_url
    try:
        version, newest = api.confirm_version()
        known, has_more = api.count()
    except ProvisionerUnavailable as trouble:
        if trouble.reached or "no connection" not in trouble.detail:
            raise
        advice = "see that it runs there, or correct the address in the connection"
        raise ProvisionerUnavailable(f"{trouble.detail}; {advice}", reached=False) from None
    mine = len(api.nodes())
    said = f"{mine} of {'more than ' if has_more else ''}{known} nodes"
    if not mine:
        said = "no node yet. A site with enroll: true enrols its own; else correct what limits the site"
    elif mine == known and not has_more:
        said = f"all {known} of its nodes. Where others use this Ironic too, limit the site further"
    return (
        f"Ironic at {url} answers (API {version} of at most {newest}) and accepts the credentials; "
        f"the site is {api.limits}: {said}."
    )
