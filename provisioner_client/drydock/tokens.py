"""Where the token in `X-Auth-Token` comes from: nowhere, a setting, or Keystone. None of them ever shows it."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from provisioner_client.errors import AuthenticationFailed, ProvisionerProtocolError, ProvisionerRefused
from provisioner_client.http_session import Answer, HttpSession, Timeouts
from provisioner_client.retry import RetryPolicy

log = logging.getLogger(__name__)

_RENEW_BEFORE: Final = timedelta(seconds=60)


class NoToken:
    """For a provisioner that asks for none."""

    def token(self) -> str | None:
        """Return None."""
        return None

    def renew(self, refused: str | None) -> bool:
        """Return False: there is no other."""
        return False

    def secrets(self) -> tuple[str, ...]:
        """Return nothing."""
        return ()

    def close(self) -> None:
        """Do nothing."""

    def __repr__(self) -> str:
        return "NoToken()"


class StaticToken:
    """A token that was given once and for all.

    Raises
    ------
    ValueError
        When it is empty or cannot stand in a header. The text does not repeat it.
    """

    def __init__(self, token: str) -> None:
        self._token = _header_text(token)

    def token(self) -> str | None:
        """Return the token."""
        return self._token

    def renew(self, refused: str | None) -> bool:
        """Return False: there is no other."""
        return False

    def secrets(self) -> tuple[str, ...]:
        """Return the token."""
        return (self._token,)

    def close(self) -> None:
        """Do nothing."""

    def __repr__(self) -> str:
        return "StaticToken(***)"


@dataclass(frozen=True, slots=True)
class KeystoneAccount:
    """Who asks Keystone for a token.

    Parameters
    ----------
    auth_url : str
        Keystone's identity API with its version, `https://keystone/v3`.
    username, password : str
    project : str
        The project that the token is for.
    user_domain, project_domain : str
        Names of the domains that user and project are in.
    """

    auth_url: str
    username: str
    password: str = field(repr=False)
    project: str
    user_domain: str = "Default"
    project_domain: str = "Default"


class KeystoneToken:
    """A token from Keystone v3 by password, asked for when needed and again shortly before it ends.

    Parameters
    ----------
    account : KeystoneAccount
    timeouts, retry, verify, named_by, sleep, chance
        As for `HttpSession`. Asking twice does no harm, so that it is repeated like a GET.
    now : callable
        The time, with a zone.
    """

    def __init__(
        self,
        account: KeystoneAccount,
        *,
        timeouts: Timeouts | None = None,
        retry: RetryPolicy | None = None,
        verify: bool | str = True,
        named_by: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._account = account
        self._now = now
        self._lock = threading.Lock()
        self._token: str | None = None
        self._ends: datetime | None = None
        # Keystone gets no token; the session asks this object only for what must not be said.
        self._http = HttpSession(
            account.auth_url,
            tokens=_SecretsOnly(self.secrets),
            timeouts=timeouts,
            retry=retry,
            verify=verify,
            named_by=named_by,
            sleep=sleep,
            chance=chance,
        )

    def token(self) -> str | None:
        """Return a token that is good for another minute at least, a new one when need be.

        Raises
        ------
        AuthenticationFailed
            When Keystone does not accept the account.
        ProvisionerUnavailable, ProvisionerProtocolError
            When Keystone gives no usable answer.
        """
        with self._lock:
            if self._token is None or (self._ends is not None and self._now() >= self._ends - _RENEW_BEFORE):
                self._token, self._ends = self._ask()
            return self._token

    def renew(self, refused: str | None) -> bool:
        """Forget the token, unless somebody else has renewed it already. Return True."""
        with self._lock:
            if self._token == refused:
                self._token = self._ends = None
        return True

    def secrets(self) -> tuple[str, ...]:
        """Return the password and the token."""
        return tuple(secret for secret in (self._account.password, self._token) if secret)

    def close(self) -> None:
        """Close the connection to Keystone."""
        self._http.close()

    def __repr__(self) -> str:
        return f"KeystoneToken({self._account!r})"

    def _ask(self) -> tuple[str, datetime | None]:
        account = self._account
        try:
            answer = self._http.post("/auth/tokens", _password_body(account), attempts=self._http.retry.attempts)
        except AuthenticationFailed as refusal:
            raise AuthenticationFailed(
                f"Keystone does not accept user {account.username!r} for project {account.project!r}: {refusal.detail}",
                status=refusal.status,
            ) from None
        except ProvisionerRefused as refusal:
            raise AuthenticationFailed(f"Keystone: {refusal.detail}", status=refusal.status) from None
        token = answer.headers.get("x-subject-token", "")
        if not token:
            raise ProvisionerProtocolError("Keystone's answer has no X-Subject-Token: does the URL end with /v3?")
        log.info("new token from Keystone for user %s", account.username)
        return token, _ends(answer)


class _SecretsOnly:
    """Tokens of a session that sends none, yet has secrets to keep."""

    def __init__(self, secrets: Callable[[], tuple[str, ...]]) -> None:
        self._secrets = secrets

    def token(self) -> str | None:
        return None

    def renew(self, refused: str | None) -> bool:
        return False

    def secrets(self) -> tuple[str, ...]:
        return self._secrets()

    def close(self) -> None:
        pass


def _header_text(token: str) -> str:
    text = token.strip()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("the token is empty or has characters that cannot stand in a header")
    return text


def _password_body(account: KeystoneAccount) -> dict[str, Any]:
    user = {"name": account.username, "domain": {"name": account.user_domain}, "password": account.password}
    project = {"name": account.project, "domain": {"name": account.project_domain}}
    return {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": {"project": project}}}


def _ends(answer: Answer) -> datetime | None:
    """When the token ends, by Keystone's clock; None when it does not say (it is then used until refused)."""
    body = answer.data.get("token") if isinstance(answer.data, dict) else None
    text = body.get("expires_at") if isinstance(body, dict) else None
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
