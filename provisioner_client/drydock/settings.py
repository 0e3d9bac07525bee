"""Everything that is needed to build a Drydock client, as one value: what an Airflow connection is turned into."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from provisioner_client.drydock.provisioner import DrydockProvisioner
from provisioner_client.drydock.tokens import KeystoneAccount, KeystoneToken, NoToken, StaticToken
from provisioner_client.http_session import Timeouts, TokenSource

LONGEST_USER: Final = 16


@dataclass(frozen=True, slots=True)
class DrydockSettings:
    """Where Drydock is and how to speak to it.

    Parameters
    ----------
    url : str
        `http://host:9000` or `https://…`.
    token : str, optional
        A fixed token. Not together with `keystone`.
    keystone : KeystoneAccount, optional
        Whom Keystone gives a token to.
    connect_timeout, read_timeout : float
        Seconds.
    verify : bool or str
        Check certificates, or the path of the CA file to check them with; Keystone's too.
    end_user, context_marker : str, optional
        For Drydock's log, see `DrydockProvisioner`.
    named_by : str, optional
        What these settings are kept in, for messages: ``Airflow connection 'slipway_provisioner'``.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    keystone: KeystoneAccount | None = None
    connect_timeout: float = 5.0
    read_timeout: float = 60.0
    verify: bool | str = True
    end_user: str | None = None
    context_marker: str | None = None
    named_by: str | None = None


def drydock_from_settings(settings: DrydockSettings) -> DrydockProvisioner:
    """Build a client. Nothing is sent yet.

    Raises
    ------
    ValueError
        When the settings cannot be used, in a sentence without secrets.
    """
    return DrydockProvisioner(
        settings.url,
        tokens_from_settings(settings),
        connect_timeout=settings.connect_timeout,
        read_timeout=settings.read_timeout,
        verify=settings.verify,
        end_user=settings.end_user,
        context_marker=settings.context_marker,
        named_by=settings.named_by,
    )


def tokens_from_settings(settings: DrydockSettings) -> TokenSource:
    """Build the token source that the settings ask for.

    Raises
    ------
    ValueError
        When both kinds of credentials are given, or one is not complete.
    """
    if settings.token and settings.keystone:
        raise ValueError("give a token or a Keystone account, not both")
    if settings.keystone:
        if len(settings.keystone.username) > LONGEST_USER:
            raise ValueError(f"Drydock refuses every task of a user whose name is longer than {LONGEST_USER}")
        return KeystoneToken(
            settings.keystone,
            timeouts=Timeouts(settings.connect_timeout, settings.read_timeout),
            verify=settings.verify,
            named_by=settings.named_by,
        )
    return StaticToken(settings.token) if settings.token else NoToken()
