"""The provisioner's own opinion of a design that is not committed yet, asked while Slipway checks it itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from concurrent.futures import TimeoutError as TookTooLong
from contextlib import closing
from typing import Any

from provisioner_client.connection import ConnectionValues
from provisioner_client.designs import DesignMessage, DesignValidation
from provisioner_client.errors import ProvisionerError, SubmissionRefused
from provisioner_client.protocol import Provisioner
from provisioner_client.redacting import Redact
from site_engine.designs import DesignCheck, check_design, refusal_stays
from site_engine.errors import ConnectionLookupFailed, NoConnection, SettingsError
from site_engine.monitoring.owners import ProvisionerObserver
from site_engine.provisioners import ProvisionerConnection
from site_store import RevisionRecord, SiteStore, StoreError
from slipway_api.http.api_errors import plain_message
from slipway_api.http.concurrency import begun
from slipway_api.http.dependencies import provisioners

log = logging.getLogger(__name__)

NAME = "ValidateDesign"
NODE_NAMES = "NodeNames"
"""The name of the message that the provisioner would lose nodes of such names."""
NOT_ASKED = "ProvisionerNotAsked"
"""The name of the message that the provisioner could not be asked; the design itself may be right."""
PATIENCE = 100.0
"""Seconds after which a provisioner that has not answered counts as one that cannot be asked."""

Messages = list[dict[str, Any]]


def ask(
    store: SiteStore,
    site: str,
    text: str,
    nodes: Collection[str],
    redact: Redact,
    committed: RevisionRecord | None = None,
    kind: str | None = None,
) -> Callable[[], Messages]:
    """Begin to have a rendered design checked by the site's provisioner.

    Parameters
    ----------
    text : the design; it is kept as a candidate for as long as the provisioner needs it.
    nodes : the names of its nodes, all of which the provisioner has to see.
    redact : takes its secrets out of what the provisioner says; it may take long, and is called by another thread.
    committed : the revision that has this design already.
    kind : the kind of provisioner that the design is for, which counts where there is no connection; None: not known.

    Returns
    -------
    callable
        Waits for the answer, and returns it as messages in Airship's shape. Where there is none, that is an error
        among them: not to know is not to be right.
    """
    candidate: str | None = None
    fetch = 0
    connection = _stand_in(kind or "")
    provisioner: Provisioner | None = None
    try:
        connection = provisioners().for_site(site)
        provisioner = connection.connect(redact, observer=ProvisionerObserver(store, connection))
        if committed is None:
            token = candidate = store.revisions.add_candidate(site, text)
        else:
            token = store.secret_texts.token_of(committed.design_handle)
            fetch = store.actions.design_fetch(site, committed.number)
        connection.design_address(token, fetch)
    except (SettingsError, ConnectionLookupFailed) as error:
        if candidate is not None:
            _forget(store, candidate)
        source = connection.backend
        with closing(provisioner or _stand_in(connection.values.type).connect(redact)) as client:
            said = error.of_type(source) if isinstance(error, NoConnection) and kind is not None else str(error)
            found = [_unknown(said, committed is not None, source), *names_problem(client, nodes, source)]
        return lambda: found

    source = connection.backend
    names = names_problem(provisioner, nodes, source)

    def work() -> DesignCheck:
        try:
            return check_design(
                provisioner,
                lambda fetch: connection.design_address(token, fetch),
                text,
                nodes,
                fetch,
                patience=PATIENCE / 3,
                backend=source,
            )
        finally:
            provisioner.close()
            if candidate is not None:
                _forget(store, candidate)

    answer = begun("validatedesign", work)

    def wait() -> Messages:
        try:
            check = answer.result(timeout=PATIENCE)
        except ProvisionerError as error:
            return [_unknown(str(error), committed is not None, source), *names]
        except TookTooLong:
            return [_unknown(f"it has not answered for {PATIENCE:.0f} s", committed is not None, source), *names]
        said = messages_of(check.validation, source) + names
        if check.shortage:
            said.append(plain_message(check.shortage, "Error", source, NAME))
        return said

    return wait


def provisioner_kind(site: str) -> str | None:
    """Return the kind of provisioner that a site's connection leads to; None where it cannot be found now."""
    try:
        connection = provisioners().find_for_site(site)
    except (SettingsError, ConnectionLookupFailed):
        return None
    return None if connection is None else connection.kind


def _stand_in(kind: str) -> ProvisionerConnection:
    """Return what checks the names of nodes where the site's connection cannot be used; nothing is sent."""
    from provisioner_client.factory import FACTORY

    # What a backend must be given to be made at all, and is of no use here.
    key = "no:such:key"
    used = FACTORY.used_type(kind)
    values = ConnectionValues(used, "", "http://unreachable.invalid", password=key, extra={"pool": "none"})
    return ProvisionerConnection(values)


def _forget(store: SiteStore, candidate: str) -> None:
    try:
        store.revisions.remove_candidate(candidate)
    except StoreError as error:
        # It ends by itself within the hour.
        log.warning("A design that was judged can still be fetched for a while: %s", error)


def messages_of(validation: DesignValidation, source: str) -> Messages:
    """Return what the provisioner, which is called `source`, said.

    What it says of a design that it accepts is no error, whatever it calls it.
    """
    found = [_message(message, validation.valid, source) for message in validation.messages]
    if not validation.valid and not any(message["error"] for message in found):
        text = "the provisioner refuses the design and names no error; its log may say more"
        found.append(plain_message(text, "Error", source, NAME))
    if validation.omitted:
        found.append(plain_message(f"and {validation.omitted} more remarks", "Info", source, NAME))
    if not validation.valid and (stays := refusal_stays(source)):
        found.append(plain_message(stays, "Info", source, NAME))
    return found


def _message(message: DesignMessage, valid: bool, source: str) -> dict[str, Any]:
    level = message.level.capitalize()
    if level not in ("Error", "Warning", "Info"):
        level = "Info" if valid else "Error"
    if valid and level == "Error":
        level = "Warning"
    pairs = [text.rpartition("/") for text in message.documents]
    return {
        **plain_message(message.text, level, source, message.code or NAME),
        "documents": [{"schema": schema, "name": name} for schema, _, name in pairs],
    }


def names_problem(provisioner: Provisioner, nodes: Collection[str], source: str) -> Messages:
    """Return, as a message, that the provisioner would lose nodes of such names."""
    try:
        provisioner.check_names(nodes)
    except SubmissionRefused as error:
        return [plain_message(error.detail, "Error", source, NODE_NAMES)]
    return []


def _unknown(detail: str, committed: bool, source: str) -> dict[str, Any]:
    text = f"the provisioner did not check the design: {detail.rstrip('.')}. Repeat when it can be asked"
    # An action can be forced too, but that is for something else.
    way_out = "" if committed else ", or force the commit, which is recorded"
    return plain_message(text + way_out, "Error", source, NOT_ASKED)
