"""Where the token in `X-Auth-Token` comes from: nowhere, a setting, or Keystone. None of them ever shows it."""

from __future__ import annotations

import io
import logging
from dataclasses import dataclass, field
from json import dumps
from typing import Any

import requests
from keystoneauth1 import exceptions, session
from keystoneauth1.access import AccessInfo
from keystoneauth1.identity import v3

from provisioner_client.connection import ConnectionValues, HttpFields
from provisioner_client.errors import AuthenticationFailed, ProvisionerProtocolError, ProvisionerRefused
from provisioner_client.http_session import HttpSession, TokenSource
from provisioner_client.http_settings import AS_SHIPPED, HttpSettings, checked_url, identity_of
from provisioner_client.redacting import nothing_is_secret

log = logging.getLogger(__name__)


class NoToken:
    """For a provisioner that asks for none."""

    def token(self) -> str | None:
        return None

    def renew(self, refused: str | None) -> bool:
        return False

    def secrets(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        """Do nothing."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class StaticToken(NoToken):
    """A token that was given once and for all.

    Raises
    ------
    ValueError : when it is empty or cannot stand in a header. The text does not repeat it.
    """

    def __init__(self, token: str) -> None:
        self._token = token.strip()
        if not self._token or not self._token.isascii() or not self._token.isprintable() or " " in self._token:
            raise ValueError("the token is empty or has characters that cannot stand in a header")

    def token(self) -> str | None:
        return self._token

    def secrets(self) -> tuple[str, ...]:
        return (self._token,)


@dataclass(frozen=True, slots=True)
class KeystoneAccount:
    """Who asks Keystone for a token.

    Parameters
    ----------
    auth_url : Keystone's identity API, with or without its version, `https://keystone/v3`.
    username, password : str
    project : the project that the token is for.
    user_domain, project_domain : names of the domains that user and project are in.
    """

    auth_url: str
    username: str
    password: str = field(repr=False)
    project: str
    user_domain: str = "Default"
    project_domain: str = "Default"


class KeystoneToken:
    """A token from Keystone v3 by password, asked for when needed and again two minutes before it ends.

    Parameters
    ----------
    account : KeystoneAccount
    settings : how it is asked; asking twice does no harm, so that it is repeated like a GET.
    """

    def __init__(self, account: KeystoneAccount, settings: HttpSettings = AS_SHIPPED) -> None:
        self._account = account
        self._plugin = v3.Password(
            checked_url(account.auth_url),
            username=account.username,
            password=account.password,
            user_domain_name=account.user_domain,
            project_name=account.project,
            project_domain_name=account.project_domain,
        )
        self._http = HttpSession(account.auth_url, settings, secrets=self.secrets)
        self._session = _Transport(self._http)

    @property
    def account(self) -> str:
        """Whose token it is, for which project and from where, without a secret."""
        of = self._account
        project = f"project {of.project} ({of.project_domain}) of {identity_of(of.auth_url)}"
        return f"{of.username} ({of.user_domain}) in {project}"

    def token(self) -> str | None:
        """Return a token that is good for two minutes at least, a new one when need be.

        Raises `AuthenticationFailed` when Keystone does not accept the account; `ProvisionerUnavailable` or
        `ProvisionerProtocolError` when Keystone gives no usable answer.
        """
        account, known = self._account, self._plugin.auth_ref
        try:
            access = self._plugin.get_access(self._session)
        except AuthenticationFailed as refusal:
            raise AuthenticationFailed(
                f"Keystone does not accept user {account.username!r} for project {account.project!r}: {refusal.detail}",
                status=refusal.status,
            ) from None
        except ProvisionerRefused as refusal:
            raise AuthenticationFailed(f"Keystone: {refusal.detail}", status=refusal.status) from None
        except (KeyError, TypeError, ValueError, exceptions.ClientException):
            # So say keystoneauth1's readers of an answer that is not Keystone's. Their texts may quote it.
            self._plugin.invalidate()
            raise ProvisionerProtocolError(
                "Keystone's answer has no X-Subject-Token: does the URL end with /v3?"
            ) from None
        if access is not known:
            # Without an end it is used until it is refused.
            self._plugin.reauthenticate = _has_end(access)
            log.info("new token from Keystone for user %s", account.username)
        return access.auth_token

    def renew(self, refused: str | None) -> bool:
        """Forget the token, unless another one has been asked for already. Return True."""
        known = self._plugin.auth_ref
        if known is not None and known.auth_token == refused:
            self._plugin.invalidate()
        return True

    def secrets(self) -> tuple[str, ...]:
        known = self._plugin.auth_ref
        return tuple(filter(None, (self._account.password, known.auth_token if known else None)))

    def close(self) -> None:
        self._http.close()

    def __repr__(self) -> str:
        return f"KeystoneToken({self._account!r})"


@dataclass(frozen=True, slots=True)
class TokenFields(HttpFields):
    """The fields of a connection's extra that say where tokens come from.

    With `auth_url`, Keystone gives the connection's login a token; `auth_token` is a fixed one.
    """

    auth_token: str | None = field(default=None, repr=False)
    auth_url: str | None = None
    project_name: str | None = None
    user_domain_name: str | None = None
    project_domain_name: str | None = None

    def tokens(self, connection: ConnectionValues) -> TokenSource:
        """Build the token source that a connection asks for.

        Raises `ValueError` when both kinds of credentials are given, or one is not complete.
        """
        if self.auth_token and self.auth_url:
            raise ValueError("give a token or a Keystone account, not both")
        if not self.auth_url:
            return StaticToken(self.auth_token) if self.auth_token else NoToken()
        account = KeystoneAccount(
            self.auth_url,
            connection.login,
            connection.password,
            self.project_name or "service",
            self.user_domain_name or "Default",
            self.project_domain_name or "Default",
        )
        return KeystoneToken(account, self.settings(connection, nothing_is_secret))


def asked_by(tokens: TokenSource, named_by: str | None) -> str:
    """Say at the end of a list's name who asks for it, so that it is shared by those of one account alone.

    It has no secret: a fixed token is named by what it is kept in.
    """
    if isinstance(tokens, KeystoneToken):
        return f", for {tokens.account}"
    return f", for the token of {named_by or 'a person'}" if isinstance(tokens, StaticToken) else ""


class _Transport(session.Session):
    """Sends what keystoneauth1 asks for by our own HTTP: its time-outs, repeats and errors, and no secret in a text."""

    def __init__(self, http: HttpSession) -> None:
        super().__init__()
        self._http = http

    def request(self, url: str, method: str, json: object = None, **_: Any) -> requests.Response:  # type: ignore[override]  # what a plugin gives
        """Send a request; only the plugin calls this."""
        path = url.removeprefix(self._http.base_url)
        answer = self._http.post(path, json, attempts=self._http.retry.attempts)
        response = requests.Response()
        response.status_code = answer.status
        response.headers.update(answer.headers)
        response.raw = io.BytesIO(dumps(answer.data).encode())
        return response


def _has_end(access: AccessInfo) -> bool:
    try:
        return access.expires is not None
    except (KeyError, TypeError, ValueError):
        return False
