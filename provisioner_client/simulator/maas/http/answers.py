"""Answers as MAAS words them: JSON for what was asked and for refused forms, plain text for most other errors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from provisioner_client.simulator.errors import SimulatorError
from provisioner_client.simulator.http.answer import Answer

BASE = "/MAAS/api/2.0"
_TEXT = "text/plain; charset=utf-8"
_JSON = "application/json"

Form = Mapping[str, Sequence[str]]


class Refused(SimulatorError):
    """MAAS refuses a request; nothing took effect.

    Parameters
    ----------
    status : of the answer.
    message : its plain text, or the fields of a form with what is wrong with each.
    """

    def __init__(self, status: int, message: str | Mapping[str, Sequence[str]]) -> None:
        super().__init__(str(message))
        self.status = status
        self.message = message

    def answer(self) -> Answer:
        """Return it as MAAS words it."""
        if isinstance(self.message, str):
            return text(self.message, self.status, effect="refused")
        return document(self.message, self.status, effect="refused")


class BadParameters(Refused):
    """A parameter of a request is wrong: 400 with a sentence."""

    def __init__(self, message: str | Mapping[str, Sequence[str]]) -> None:
        super().__init__(400, message)


def text(message: str, status: int = 200, *, effect: str = "read") -> Answer:
    """Return plain text."""
    return Answer(status, message.encode(), _TEXT, effect=effect)


def document(payload: object, status: int = 200, *, effect: str = "read", reference: str | None = None) -> Answer:
    """Return JSON."""
    return Answer(status, json.dumps(payload).encode(), _JSON, effect=effect, reference=reference)


def nothing(effect: str) -> Answer:
    """Return 204."""
    return Answer(204, effect=effect)


def no_such(model: str) -> Refused:
    """Return the 404 of a look-up, which names the model and not what was looked for."""
    return Refused(404, f"No {model} matches the given query.")


def forbidden() -> Refused:
    """Return the 403 of most refusals: its body is empty."""
    return Refused(403, "")


def first(form: Form, name: str, default: str = "") -> str:
    """Return the first value of a parameter."""
    values = form.get(name)
    return values[0] if values else default


def is_true(form: Form, name: str) -> bool:
    """Return whether a boolean parameter is on.

    Raises `BadParameters` where the value is no boolean.
    """
    value = first(form, name).lower()
    if value not in ("", "0", "1", "true", "false", "yes", "no", "on", "off"):
        raise BadParameters({name: ["Value should be a boolean."]})
    return value in ("1", "true", "yes", "on")
