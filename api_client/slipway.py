"""Slipway's own REST API, which its plugin serves on Airflow's port and with Airflow's tokens."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from urllib.parse import quote

import requests

from api_client.session import ApiError, ApiRefused, ApiSession, read_json, sentence

API = "/slipway/api/v1.0"
VALIDATION_TIMEOUT = 300.0
"""Seconds for an answer for which the provisioner reads the whole design."""
PROVISIONER_REASONS = frozenset({"Provisioner", "Provisioner unreachable", "Provisioner not configured"})
"""The `reason` of an answer that is about the provisioner. Any other error is the API's own, or a proxy's."""
UNCHANGED = "Unchanged collection"
"""The `reason` of a refusal to load what the newest revision has."""
_COLLECTION = "design"
_NOT_FOUND = 404
_NO_CONTENT = 204


@dataclass(frozen=True, slots=True)
class Revision:
    """A committed revision of a site; `created` is False when the newest one had the same content."""

    number: int
    created: bool


@dataclass(frozen=True, slots=True)
class Action:
    """An action, and the DAG run that carries it out, if one does.

    `state` is pending, running, success, failed or cancelled; `verdict` says why, once it is over.
    """

    id: str
    run_id: str | None
    kind: str
    state: str
    marker: str | None
    verdict: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has ended, with any result."""
        return self.state not in ("pending", "running")

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Action:
        return cls(
            id=data["id"],
            run_id=data["run_id"],
            kind=data["name"],
            state=data["state"],
            marker=data.get("context_marker"),
            verdict=data.get("verdict"),
        )


class Held(Protocol):
    """The lease of the controller that asks."""

    @property
    def epoch(self) -> int: ...

    @property
    def secret(self) -> str: ...


class SlipwayClient:
    """Requests to Slipway's API. Every method may raise `ApiUnreachable` and `ApiRefused`."""

    def __init__(self, session: ApiSession) -> None:
        self.session = session

    def request(
        self, what: str, method: str, path: str, query: Mapping[str, Any] | None = None, **arguments: Any
    ) -> requests.Response:
        """Send a request.

        Parameters
        ----------
        what : what is being done, for messages.
        path : below the API's own.
        query : without those that are None.
        arguments : as for `requests.Session.request`.
        """
        given = {name: value for name, value in (query or {}).items() if value is not None}
        params = {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}
        return self.session.request(what, method, API + path, params=params, **arguments)

    def commit(self, site: str, text: str) -> Revision:
        """Make these documents, and no others, the site's design. What was in its buffer is lost.

        Raises `ApiError`: the documents have errors; all of them are named.
        """
        newest = self._newest_revision(site)
        held = {each["name"] for each in newest["collections"]} if newest is not None else set()
        what = f"committing {site}"
        try:
            tag = self._load(site, text, held)
            if tag is None:
                return Revision(newest["revision"], created=False)
            # Exactly what was just loaded is committed.
            headers = {"If-Match": tag}
            answer = self.request(
                what, "POST", "/commitconfigdocs", {"site": site}, headers=headers, timeout=VALIDATION_TIMEOUT
            )
        except ApiRefused as error:
            if error.status == 400 and isinstance(error.detail, Mapping):
                raise _refusal(site, error.detail) from error
            raise
        return Revision(read_json(what, answer)["revision"], created=True)

    def _newest_revision(self, site: str) -> Any:
        found = self._get(f"reading the revisions of {site}", "/revisions", {"site": site, "limit": 1})
        return next(iter(found or ()), None)

    def _load(self, site: str, text: str, held: Collection[str]) -> str | None:
        """Fill the buffer; return its version as HTTP knows it. None: the newest revision has just this.

        Which text a revision has, the server alone can tell: what holds secrets has a digest that nobody else can make.
        """
        mode, tag = "replace", None
        contents = {**dict.fromkeys(sorted(held), ""), _COLLECTION: text}
        for collection in sorted(contents, key=lambda name: name == _COLLECTION):  # what is to be removed goes first
            body = contents[collection]
            try:
                answer = self.request(
                    f"loading {site}",
                    "POST",
                    f"/configdocs/{_quoted(collection)}",
                    {"site": site, "buffermode": mode, "empty-collection": not body},
                    data=body.encode(),
                    headers={"Content-Type": "application/x-yaml"},
                    timeout=VALIDATION_TIMEOUT,
                )
            except ApiRefused as error:
                if isinstance(error.detail, Mapping) and error.detail.get("reason") == UNCHANGED:
                    continue
                raise
            mode, tag = "append", answer.headers.get("ETag", "*")
        return tag

    def create_action(
        self, site: str, kind: str, parameters: Mapping[str, Any], *, marker: str, allow_intermediate: bool = False
    ) -> Action:
        """Start an action.

        Parameters
        ----------
        marker : a UUID by which it is recognised later.
        allow_intermediate : also when revisions before this one were never deployed.
        """
        what = f"creating {kind} of {site}"
        answer = self.request(
            what,
            "POST",
            "/actions",
            {"site": site, "allow-intermediate-commits": allow_intermediate},
            json={"name": kind, "parameters": dict(parameters)},
            headers={"X-Context-Marker": marker},
            timeout=VALIDATION_TIMEOUT,
        )
        return Action.from_json(read_json(what, answer))

    def actions(self, site: str, limit: int = 50) -> list[Action]:
        """Return the newest actions of a site, newest first; none of one that does not exist yet."""
        found = self._get(f"reading the actions of {site}", "/actions", {"site": site, "limit": limit})
        return [Action.from_json(item) for item in found or ()]

    def action(self, action_id: str) -> Action:
        what = f"reading action {action_id}"
        return Action.from_json(read_json(what, self.request(what, "GET", f"/actions/{_quoted(action_id)}")))

    def provisioner_problem(self, site: str) -> str | None:
        """Return why the site's provisioner cannot be used, in a sentence; None when it can.

        Raises `ApiRefused` or `ApiUnreachable`: the API itself does not answer as it should: of the provisioner nothing
        is known.
        """
        try:
            self.request(f"asking the provisioner of site {site}", "GET", "/provisioner", {"site": site})
        except ApiRefused as refused:
            # The API answers 503 also when its own database is away, and so does a proxy before an API that is away.
            if not isinstance(refused.detail, Mapping) or str(refused.detail.get("reason")) not in PROVISIONER_REASONS:
                raise
            return sentence(refused.detail)
        return None

    def deliver(self, event_id: str, target: str, held: Held) -> str | None:
        """Have a notification sent to a webhook; return why its receiver did not take it, None where it did.

        Raises `ApiRefused` or `ApiUnreachable`: the API does not answer as it should: of the receiver nothing is known.
        """
        what = f"sending notification {event_id} to {target}"
        data = self._ask_as_leader(what, f"/notifications/{_quoted(event_id)}/deliveries", held, target=target)
        problem = data.get("problem")
        return None if problem is None else str(problem)

    def follow(self, site: str, held: Held) -> tuple[int, int, str | None]:
        """Have provisioner tasks looked at that nobody waits for any more.

        Returns
        -------
        tuple
            How many were looked at, how many are over now, and what could not be asked.
        """
        what = f"looking at unfinished provisioner tasks of site {site}"
        data = self._ask_as_leader(what, f"/sites/{_quoted(site)}/unfinished", held)
        problem = data.get("problem")
        return int(data["looked"]), int(data["over"]), None if problem is None else str(problem)

    def compare(self, site: str, held: Held) -> str | None:
        """Have the store compared with what a site's provisioner shows of it; return why it could not be."""
        what = f"comparing the store with the provisioner of site {site}"
        problem = self._ask_as_leader(what, f"/sites/{_quoted(site)}/unfinished", held, compare=True).get("problem")
        return None if problem is None else str(problem)

    def observe(self, site: str, held: Held, cursor: str | None = None, since: datetime | None = None) -> str | None:
        """Have a site's provisioner say how its nodes are now; the list is kept in the store.

        Parameters
        ----------
        held : the site's lease.
        cursor : what the last answer was; None: the whole list is read.
        since : a list serves that anybody has asked for after this time of the database.  [now]
        """
        what = f"reading the list of nodes of site {site}"
        needed = None if since is None else since.isoformat()
        path = f"/sites/{_quoted(site)}/observe"
        found = self._ask_as_leader(what, path, held, cursor=cursor, since=needed).get("cursor")
        return found if isinstance(found, str) else None

    def repair(self, site: str, run_id: str, nodes: Sequence[str], held: Held, *, redeploy: bool, revision: int) -> str:
        """Have nodes repaired by an action whose run has this id, and return the action's id; a run is started once.

        Parameters
        ----------
        revision : the one that they are brought back to.
        """
        what = f"starting the repair of site {site}"
        wanted = {"run_id": run_id, "nodes": list(nodes), "redeploy": redeploy, "revision": revision}
        return str(self._ask_as_leader(what, f"/sites/{_quoted(site)}/repair", held, **wanted)["action"])

    def power_on(self, site: str, run_id: str, nodes: Sequence[str], held: Held) -> dict[str, str]:
        """Have nodes powered on that are deployed and off; return why others were not."""
        what = f"powering on nodes of site {site}"
        wanted = {"run_id": run_id, "nodes": list(nodes), "power_on": True}
        data = self._ask_as_leader(what, f"/sites/{_quoted(site)}/repair", held, **wanted)
        return {str(name): str(why) for name, why in data["refused"].items()}

    def _ask_as_leader(self, what: str, path: str, held: Held, **wanted: Any) -> Any:
        """Ask for what the controller alone may ask for, by its lease."""
        body = wanted | {"epoch": held.epoch, "secret": held.secret}
        return read_json(what, self.request(what, "POST", path, json=body))

    def read_metrics(self) -> None:
        """Have the metrics read: with that they are given to Airflow's own metrics, too.

        Raises `ApiError`: they are not answered.
        """
        self.session.request("reading the metrics", "GET", "/slipway/metrics")

    def stop(self, action_id: str) -> None:
        """End an action; `ApiRefused` with status 409 when it is over, or not there yet."""
        self.request(f"stopping action {action_id}", "POST", f"/actions/{_quoted(action_id)}/control/stop")

    def report(self, action_id: str) -> Mapping[str, Any] | None:
        """Return the report of an action as it is kept; None where there is none."""
        query = {"format": "json"}
        found: Mapping[str, Any] | None = self._get(
            f"reading the report of action {action_id}", f"/actions/{_quoted(action_id)}/report", query
        )
        return found

    def report_text(self, action_id: str) -> str:
        """Return the report of an action to read."""
        return self.request(
            f"reading the report of action {action_id}", "GET", f"/actions/{_quoted(action_id)}/report"
        ).text

    def action_tree(
        self, action_id: str, depth: str | None = None, since: str | None = None, wait: float = 0.0
    ) -> dict[str, Any] | None:
        """Return the status tree of an action, None where nothing is different.

        Parameters
        ----------
        depth : how many levels; None: as many as the server finds useful.
        since : the token of an earlier answer: only what is different from it is of interest.
        wait : seconds until there is an answer at the latest, where nothing is different.
        """
        what = f"reading how action {action_id} stands"
        query = {"depth": depth, "since": since, "wait": wait or None}
        answer = self.request(what, "GET", f"/actions/{_quoted(action_id)}/tree", query)
        if answer.status_code == _NO_CONTENT:
            return None
        tree: dict[str, Any] = read_json(what, answer)
        return tree

    def _get(self, what: str, path: str, query: Mapping[str, Any] | None = None) -> Any:
        """Return the JSON of an answer, None where there is no such thing (404)."""
        try:
            return read_json(what, self.request(what, "GET", path, query))
        except ApiRefused as error:
            if error.status != _NOT_FOUND:
                raise
            return None


def _quoted(part: str) -> str:
    return quote(part, safe="")


def _refusal(site: str, detail: Mapping[str, Any]) -> ApiError:
    messages = (detail.get("details") or {}).get("messageList") or []
    errors = [_text(message) for message in messages if not isinstance(message, Mapping) or message.get("error", True)]
    said = str(detail.get("message") or f"the design of {site} was refused")
    return ApiError("\n".join([said, *("  " + problem for problem in errors)]))


def _text(message: Any) -> str:
    return str(message.get("message", message)) if isinstance(message, Mapping) else str(message)
