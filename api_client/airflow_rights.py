"""Which rights an account has in Airflow, found by trying: each request is refused, or is about a run that is not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final
from urllib.parse import quote

from api_client.session import ApiRefused, ApiSession

_NO_RUN: Final = "slipway-tries-its-rights"
"""There is no run of this id."""
_FORBIDDEN: Final = 403
_HARMLESS: Final = (400, 404)
"""Answers to who may: such a run cannot be, or is not."""
_IMPOSSIBLE: Final[Mapping[str, Any]] = {
    "dag_run_id": f"../{_NO_RUN}",
    "logical_date": None,
    "partition_key": "none",
    "conf": {},
}
"""A run that Airflow refuses for its id, for a partition that Slipway's DAGs have not, and for want of parameters."""


class AirflowRights:
    """Tries rights as the user of the session. Nothing changes in Airflow.

    Its audit log gets a line for each change that is allowed: so what was granted is tried again when asked to only.
    """

    def __init__(self, session: ApiSession) -> None:
        self._session = session
        self._granted: set[tuple[str, str]] = set()

    def refused(self, changes: Collection[str], triggers: Collection[str], *, again: bool = False) -> list[str]:
        """Return what the account may not: see the list of all runs, see and change runs of DAGs, trigger DAGs.

        Parameters
        ----------
        changes, triggers : DAGs whose runs it needs to see and change, and that it needs to trigger.
        again : also what was granted before is tried. What is only read always is.

        Raises
        ------
        ApiError : Airflow does not answer, or not to this question.
        """
        if again:
            self._granted.clear()
        missing = []
        if not self._may("GET", "~", "?limit=1"):
            missing.append("see the list of runs, without which no dead action is closed")
        for dag in changes:
            if not self._may("GET", dag, f"/{_NO_RUN}"):
                missing.append(f"see the runs of {dag}")
            elif not self._may("PATCH", dag, f"/{_NO_RUN}", json={"note": ""}):
                missing.append(f"change the runs of {dag}")
        for dag in triggers:
            if not self._may("POST", dag, "", json=_IMPOSSIBLE):
                missing.append(f"trigger {dag}")
        return missing

    def _may(self, method: str, dag: str, rest: str, **arguments: Any) -> bool:
        if (method, dag) in self._granted:
            return True
        path = f"/api/v2/dags/{quote(dag, safe='~')}/dagRuns{rest}"
        try:
            self._session.request(f"trying rights on {dag}", method, path, **arguments)
        except ApiRefused as error:
            if error.status == _FORBIDDEN:
                return False
            if error.status not in _HARMLESS:
                raise
        if method != "GET":
            self._granted.add((method, dag))
        return True
