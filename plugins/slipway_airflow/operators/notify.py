"""Send a notification through one of Airflow's notifiers."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException

from site_engine.controller.notifications import message_of, text_of
from site_engine.errors import StepError
from site_store import NotFound, SiteStore
from strategy_lib.actors import Actor
from strategy_lib.did_you_mean import did_you_mean
from strategy_lib.parsing.notifications import Notifier
from strategy_lib.settings import SLIPWAY_NOTIFIERS, SettingError

if TYPE_CHECKING:
    from airflow.sdk.bases.notifier import BaseNotifier

SMTP: Final = "smtp"
_BUILT_IN: Final = {SMTP: "airflow.providers.smtp.notifications.smtp:SmtpNotifier"}


def make_notifier(way: Notifier, message: Mapping[str, Any], environment: Mapping[str, str]) -> BaseNotifier:
    """Return a notifier that says this.

    `smtp` gets subject and text. Of any other, each argument that is a text has `{text}` and `{details}` replaced.

    A document names one by its name, and so loads no code that an administrator has not listed.

    Parameters
    ----------
    environment : `SLIPWAY_NOTIFIERS` lists more than are built in.

    Raises `StepError`: there is no such notifier, or it cannot take the arguments; `SettingError`: the list cannot
    be read.
    """
    known = _BUILT_IN | SLIPWAY_NOTIFIERS.read(environment)
    if way.name not in known:
        raise StepError(f"there is no notifier {way.name!r}; {did_you_mean(way.name, known)}")
    module, _, name = known[way.name].partition(":")
    arguments = dict(way.arguments)
    if way.name == SMTP:
        text = f"<pre>{html.escape(text_of(message))}</pre>"
        arguments = {"subject": message["text"], "html_content": text, **arguments}
        arguments |= {} if way.connection is None else {"smtp_conn_id": way.connection}
    else:
        arguments = {key: _filled(value, message) for key, value in arguments.items()}
        if way.connection is not None:
            # What providers call it: slack_conn_id, discord_conn_id, …; a document may name the argument itself.
            arguments.setdefault(f"{way.name}_conn_id", way.connection)
    try:
        made: BaseNotifier = getattr(import_module(module), name)(**arguments)
    except (ImportError, AttributeError) as error:
        raise StepError(f"the notifier {way.name!r} is not installed: {error}") from error
    except TypeError as error:
        raise StepError(f"the notifier {way.name!r} does not take these arguments: {error}") from error
    return made


def _filled(value: Any, message: Mapping[str, Any]) -> Any:
    if not isinstance(value, str):
        return value
    return value.replace("{text}", str(message["text"])).replace("{details}", text_of(message))


class NotifyOperator(BaseOperator):
    """Send the notification that the run's parameters name to the target that they name; retried by Airflow."""

    def execute(self, context: Context) -> None:
        """Send it, once for each try.

        Raises `AirflowFailException`: there is no such notification or target, or no such notifier. What the notifier
        raises is tried again.
        """
        params = context["params"]
        try:
            with SiteStore.open(actor=Actor.STEP) as store:
                event = store.outbox.get(str(params["event_id"]))
                target = store.outbox.targets(event.site).get(str(params["target"]))
            if target is None or not isinstance(target.way, Notifier):
                raise AirflowFailException(f"site {event.site} has no notifier {params['target']!r} (any more)")
            notifier = make_notifier(target.way, message_of(event), os.environ)
        except (NotFound, StepError, SettingError) as error:
            raise AirflowFailException(str(error)) from error
        # Not called as Airflow's callbacks call it: that would take what a document says for a template, which may
        # read connections, and would hide a failure.
        notifier.notify(context)
        self.log.info("Sent to %s: %s", target.name, message_of(event)["text"])
