"""Which scripts have failed on a machine: of a failed commissioning or test MAAS's results tell it, and no event."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from provisioner_client.errors import ProvisionerError
from provisioner_client.http_errors import one_line
from provisioner_client.maas.api import MaasApi
from provisioner_client.maas.machine import Status

log = logging.getLogger(__name__)

KINDS_OF_STATUS: Final[Mapping[Status, tuple[str, ...]]] = {
    Status.FAILED_COMMISSIONING: ("commissioning",),
    Status.FAILED_TESTING: ("testing",),
    Status.FAILED_DEPLOYMENT: ("installation",),
}
"""Whose results say why a machine has a status that it had before our task."""
_ABORTED: Final = "aborted"
_BAD: Final = ("failed", "timed out", "degraded", _ABORTED)


def failed_scripts(api: MaasApi, system_id: str, kinds: Sequence[str]) -> str:
    """Return which scripts of a machine's newest runs of these kinds have failed, in MAAS's words; "": none.

    Raises `ProvisionerError`: the results cannot be read.
    """
    return "; ".join(_texts([one for kind in kinds for one in api.results(system_id, kind)]))


def scripts_of_status(api: MaasApi, system_id: str, status: Status | None) -> str:
    """Return which scripts say why a machine has a status; "": none do, or their results cannot be read."""
    try:
        return failed_scripts(api, system_id, KINDS_OF_STATUS.get(status, ()) if status is not None else ())
    except ProvisionerError as trouble:
        log.info("the scripts' results of %s cannot be read: %s", system_id, trouble)
        return ""


def _texts(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return which scripts failed; where none did, which were aborted: MAAS aborts what comes behind a failure."""
    texts: dict[bool, list[str]] = {True: [], False: []}
    for one in results:
        word = one_line(one.get("status_name") or "")
        if word.lower().startswith(_BAD) and not one.get("suppressed"):
            status = one.get("exit_status")
            ended = f" (exit status {status})" if isinstance(status, int) and status else ""
            text = f"script {one_line(one.get('name') or '?')}: {word}{ended}"
            texts[word.lower().startswith(_ABORTED)].append(text)
    return texts[False] or texts[True]
