"""MAAS's API 2.0 as this backend uses it: what is asked, and never more than the site's part of it.

A pool or a tag limits the site: both stand in every list of machines that is asked for. An empty tag would mean all
machines of MAAS, and other empty filters none or an error, so that none is ever sent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from provisioner_client.errors import (
    AuthenticationFailed,
    ProvisionerProtocolError,
    ProvisionerRefused,
    ProvisionerUnavailable,
    TaskNotFound,
)
from provisioner_client.http_errors import ErrorShape, ErrorText
from provisioner_client.http_session import HttpSession
from provisioner_client.http_settings import seconds_until
from provisioner_client.maas.api_key import LARGEST_SKEW
from provisioner_client.maas.events import Event, EventPage, read_events
from provisioner_client.maas.machine import Machine, SetUp, read_machines, read_set_up
from provisioner_client.maas.tasks.task_tag import TaskTag, read_tag

PATH: Final = "/api/2.0"
BATCH: Final = 100
"""Names or ids in one request at most: they stand in its address."""
PAGE: Final = 1000
_NOBODY: Final = "slipway-asks-for-nobody"
_NO_SUCH: Final = {"pool": "No such pool", "tags": "No such tag"}
_NOT_THERE: Final = "matches the given query"


def is_maas(error: ErrorText) -> bool:
    """Whether MAAS itself has written an error: plain text or a form's, and no page of something on the way."""
    return error.shape is ErrorShape.FORM or (
        error.shape is ErrorShape.TEXT and not error.message.startswith("an HTML page")
    )


class MaasApi:
    """Requests about one site, from one thread.

    Parameters
    ----------
    http : the server; its errors are told apart by `is_maas`.
    pool, tag : what limits the site; at least one of them.
    """

    def __init__(self, http: HttpSession, pool: str = "", tag: str = "") -> None:
        if not pool and not tag:
            raise ValueError("a pool or a tag must limit the site's part of MAAS: give one of them")
        self.http = http
        self._limits = [(name, value) for name, value in (("pool", pool), ("tags", tag)) if value]
        self.limits = " and ".join(f"{name.removesuffix('s')} {value}" for name, value in self._limits)
        self.limiting_tag = tag
        self._account = ""

    @property
    def account(self) -> str:
        """The name under which this key asks; asked for once."""
        if not self._account:
            self._account = str(self.whoami()["username"])
        return self._account

    def version(self) -> tuple[dict[str, Any], str]:
        """Return what MAAS says of its version, and the time that its answer carries."""
        try:
            answer = self.http.get(f"{PATH}/version/")
        except (ProvisionerRefused, ProvisionerUnavailable) as refusal:
            # Outside of /MAAS it leads to its pages, or has none.
            if refusal.status != 404 and refusal.status not in range(300, 400):
                raise
            hint = f"MAAS's API is not below {self.http.base_url}: its URL ends with /MAAS, as in http://maas:5240/MAAS"
            raise ProvisionerProtocolError(f"{refusal.detail}; {hint}", status=refusal.status) from None
        if not isinstance(answer.data, dict) or not isinstance(answer.data.get("version"), str):
            raise ProvisionerProtocolError(f"GET {PATH}/version/ names no version: is this MAAS?")
        return answer.data, answer.headers.get("date", "")

    def whoami(self) -> dict[str, Any]:
        """Return the account to which the key belongs."""
        data = self.http.get(f"{PATH}/users/op-whoami").data
        if not isinstance(data, dict) or not data.get("username"):
            raise ProvisionerProtocolError("MAAS does not say whose the API key is")
        return data

    def check_access(self, url: str) -> str:
        """Say whether MAAS answers and accepts the key, whether its account may do what is needed, and has the limits.

        Raises `AuthenticationFailed`: also for an account that is no administrator, and where the clocks differ by so
        much that MAAS refuses every key.
        """
        version, date = self.version()
        try:
            account = self.whoami()
        except AuthenticationFailed as refusal:
            skew = seconds_until(date, datetime.now(UTC)) or 0.0
            if refusal.status == 401 and abs(skew) > LARGEST_SKEW:
                said = f"MAAS's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} this machine's"
                limit = f"it refuses every request that is over {LARGEST_SKEW:.0f} s old"
                raise AuthenticationFailed(f"{said}, and {limit}: synchronize the clocks", status=401) from None
            raise
        if not account.get("is_superuser"):
            raise AuthenticationFailed(
                f"the account {account['username']} is no administrator of MAAS, and so cannot commission machines"
            )
        self.confirm_limits()
        return (
            f"MAAS {version['version']} at {url} answers (API 2.0) and accepts the credentials of the "
            f"administrator {account['username']}; the site is {self.limits}."
        )

    def confirm_limits(self) -> None:
        """Make sure that MAAS has the pool and the tag that limit the site. It costs no list of machines.

        Raises `ProvisionerRefused`: it has not.
        """
        self._list([("hostname", _NOBODY)])

    def images(self) -> list[dict[str, Any]]:
        """Return the images that MAAS has."""
        data = self.http.get(f"{PATH}/boot-resources/").data
        if not isinstance(data, list):
            raise ProvisionerProtocolError("MAAS's images are not a list")
        return [one for one in data if isinstance(one, dict)]

    def machines(self) -> list[Machine]:
        """Return all machines of the site. It is MAAS's dearest request."""
        return self._list([])

    def machines_of(self, what: str, values: Collection[str]) -> list[Machine]:
        """Return those machines of the site whose `hostname` or `id` is among these values; none for no values."""
        found = []
        for batch in _batches(values):
            found += self._list([(what, value) for value in batch])
        return found

    def deploying(self) -> int:
        """Return how many machines this account is deploying now, also for other sites: of these only the number."""
        params = [("status", "deploying"), ("owner", self.account)]
        data = self.http.get(f"{PATH}/machines/", params).data
        return len(read_machines(data))

    def newest_event(self, ids: Collection[str]) -> int:
        """Return the number of the newest event of these machines; 0 where there is none."""
        return max((self._events(batch, 1, *_ids(batch)).newest for batch in _batches(ids)), default=0)

    def events(self, ids: Collection[str], after: int) -> list[Event]:
        """Return all events of these machines after one, by their numbers."""
        found: list[Event] = []
        for batch in _batches(ids):
            last = after
            while True:
                page = self._events(batch, PAGE, *_ids(batch), ("after", str(last)))
                found += page.events
                if len(page.stamps) < PAGE or page.newest <= last:
                    break
                last = page.newest
        return sorted(found, key=lambda event: event.id)

    def newest_events(self, system_id: str, count: int) -> list[Event]:
        """Return so many of a machine's newest events, by their numbers."""
        return self._events([system_id], count, *_ids([system_id])).events

    def newest_of_all(self, ids: Collection[str], most: int) -> EventPage:
        """Return the newest events of all of MAAS, so many at most; of other machines they are dropped unread."""
        return self._events(ids, most)

    def events_of_all(self, ids: Collection[str], after: int, most_pages: int) -> EventPage | None:
        """Return all events of MAAS after one; those of other machines are dropped unread.

        A filter by pool would miss machines that leave it, and the address has no place for the ids of a large site.
        None: they are more than so many pages.
        """
        whole = EventPage([], {})
        for _ in range(most_pages):
            last = max(after, whole.newest)
            page = self._events(ids, PAGE, ("after", str(last)))
            whole = EventPage([*whole.events, *page.events], {**whole.stamps, **page.stamps})
            if len(page.stamps) < PAGE or page.newest <= last:
                return whole
        return None

    def off_though_deployed(self) -> list[Machine]:
        """Return the machines of the site that are Deployed and have no power. Where none are, it costs 25 ms."""
        return self._list([("status", "deployed"), ("power_state", "off")])

    def task(self, reference: str) -> TaskTag | None:
        """Return the task of this reference; None where MAAS itself says that it has no such tag."""
        answer = self.http.get(f"{PATH}/tags/{_part(reference)}/", accept=_is_unknown)
        return None if answer.status == 404 else read_tag(answer.data)

    def tasks(self) -> list[TaskTag]:
        """Return all tasks of which MAAS has the tag, also those of other sites; tags that are none are left out."""
        data = self.http.get(f"{PATH}/tags/").data
        found = []
        for one in data if isinstance(data, list) else []:
            with suppress(ProvisionerProtocolError):
                found.append(read_tag(one))
        return found

    def confirm_gone(self, reference: str) -> None:
        """Make sure that there is no such tag, by another question.

        Raises `TaskNotFound`: there is none; `ProvisionerProtocolError`: the two answers do not agree.
        """
        params = [("tags", reference), *self._limits]
        answer = self.http.get(f"{PATH}/machines/", params, accept=_is_no_such_tag)
        if answer.status == 400:
            raise TaskNotFound(f"tag {reference}", status=404)
        raise ProvisionerProtocolError(f"MAAS says that there is no tag {reference}, and lists machines by it")

    def results(self, system_id: str, kind: str) -> list[dict[str, Any]]:
        """Return the results of a machine's newest run of a kind: `commissioning`, `testing`, `installation`.

        MAAS lists all runs that it keeps, in no order.
        """
        data = self.http.get(f"{PATH}/nodes/{_part(system_id)}/results/", {"type": kind}).data
        runs = [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []
        newest = max(runs, key=_number, default={})
        results = newest.get("results")
        return [one for one in results if isinstance(one, dict)] if isinstance(results, list) else []

    def act(self, system_id: str, operation: str, fields: Sequence[tuple[str, str]]) -> None:
        """Ask one machine for something, once. Raises as `HttpSession.form`."""
        self.http.form(f"{PATH}/machines/{_part(system_id)}/op-{operation}", fields)

    def allocate(self, system_id: str, reference: str, made: SetUp | None = None) -> None:
        """Allocate this very machine, once: by a name, MAAS might compose another.

        `made` stands in the ledger: how it was set up before.
        """
        comment = f"{reference} {made.written}" if made is not None else reference
        fields = {"system_id": system_id, "agent_name": reference, "comment": comment}
        self.http.form(f"{PATH}/machines/op-allocate", fields)

    def set_up(self, system_id: str) -> SetUp:
        """Return how the disks and interfaces of a machine are set up now."""
        data = self.http.get(f"{PATH}/machines/{_part(system_id)}/").data
        if not isinstance(data, dict):
            raise ProvisionerProtocolError("MAAS gives something that is no machine")
        return read_set_up(data)

    def make_tag(self, name: str, comment: str) -> None:
        """Make a tag, once. Raises `ProvisionerRefused`: there is one of this name, or MAAS does not take it."""
        self.http.form(f"{PATH}/tags/", {"name": name, "comment": comment})

    def rewrite_tag(self, name: str, comment: str) -> None:
        """Give a tag another comment; repeated, it is the same."""
        path = f"{PATH}/tags/{_part(name)}/"
        self.http.form(path, {"comment": comment}, method="PUT", attempts=self.http.retry.attempts)

    def delete_tag(self, name: str) -> None:
        """Delete a tag; one that is gone by now is gone."""
        self.http.form(f"{PATH}/tags/{_part(name)}/", method="DELETE", accept=_is_unknown)

    def tag_machines(self, name: str, *, add: Collection[str] = (), remove: Collection[str] = ()) -> int:
        """Add a tag to machines, and take it from others; return how many it was added to. Repeated, it is the same."""
        added, path = 0, f"{PATH}/tags/{_part(name)}/op-update_nodes"
        for key, ids in (("add", add), ("remove", remove)):
            for batch in _batches(ids):
                fields = [(key, system_id) for system_id in batch]
                data = self.http.form(path, fields, attempts=self.http.retry.attempts).data
                added += data.get("added", 0) if isinstance(data, dict) else 0
        return added

    def _events(self, wanted: Collection[str], limit: int, *filters: tuple[str, str]) -> EventPage:
        params = [*filters, ("level", "DEBUG"), ("limit", str(limit))]
        return read_events(self.http.get(f"{PATH}/events/op-query", params).data, wanted)

    def _list(self, filters: Sequence[tuple[str, str]]) -> list[Machine]:
        if any(not value for _, value in filters):
            raise ProvisionerRefused("an empty filter may mean all machines of MAAS, and is never sent")
        try:
            return read_machines(self.http.get(f"{PATH}/machines/", [*filters, *self._limits]).data)
        except ProvisionerRefused as refusal:
            unknown = [limit for limit in self._limits if _NO_SUCH[limit[0]] in refusal.said]
            lacks = [f"{name.removesuffix('s')} {value}" for name, value in unknown]
            if refusal.status != 400 or not lacks:
                raise
            said = f"MAAS has no {' and '.join(lacks)}: correct what limits the site in the connection"
            raise ProvisionerRefused(said, status=400, answered=refusal.answered) from None


def _batches(values: Collection[str]) -> Iterator[list[str]]:
    listed = list(dict.fromkeys(values))
    for start in range(0, len(listed), BATCH):
        yield listed[start : start + BATCH]


def _ids(values: Collection[str]) -> list[tuple[str, str]]:
    return [("id", value) for value in values]


def _number(run: dict[str, Any]) -> int:
    number = run.get("id")
    return number if isinstance(number, int) else 0


def _part(text: str) -> str:
    return quote(text, safe="")


def _is_unknown(status: int, error: ErrorText) -> bool:
    """Only MAAS itself can say that there is no such tag; any other 404 is about the URL, or a proxy's."""
    return status == 404 and is_maas(error) and _NOT_THERE in error.message


def _is_no_such_tag(status: int, error: ErrorText) -> bool:
    return status == 400 and is_maas(error) and "No such tag" in error.message
