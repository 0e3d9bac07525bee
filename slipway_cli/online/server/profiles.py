"""Which servers the command line knows, and its tokens for them, in the user's configuration folder."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from api_client.session import token_expiry
from provisioner_client.private_files import write_private
from slipway_cli import SlipwayCliError
from strategy_lib.did_you_mean import suggestion

_TOO_OPEN = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class Profile:
    """A server: its address, the site that is meant when none is named, and the user to log in as."""

    url: str
    site: str | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True)
class Login:
    """A token, and for which server and user it is."""

    url: str
    user: str
    token: str

    def __repr__(self) -> str:
        return f"Login(url={self.url!r}, user={self.user!r})"

    def at(self, url: str, user: str | None) -> bool:
        """Whether it is for this server, and for this user if one is named."""
        return self.url == url and user in (None, self.user)

    @property
    def expires(self) -> datetime | None:
        """When the token ends; None where it does not say."""
        ends = token_expiry(self.token)
        try:
            return None if ends is None else datetime.fromtimestamp(ends, UTC)
        except (ValueError, OverflowError, OSError):
            return None


class Folder:
    """The configuration folder: `profiles.yaml`, and `tokens.json`, which only its owner may read.

    `loaded.json` is a memory of files that were sent, see `slipway_cli.online.documents.collection_files`.
    """

    def __init__(self, path: Path) -> None:
        self.profiles_file = path / "profiles.yaml"
        self.tokens_file = path / "tokens.json"
        self.loaded_file = path / "loaded.json"

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Folder:
        """Return the user's own: `$XDG_CONFIG_HOME/slipway`, else `~/.config/slipway`."""
        base = environ.get("XDG_CONFIG_HOME")
        # A relative path is to be ignored, says the specification of this variable.
        return cls((Path(base) if base and base.startswith("/") else Path.home() / ".config") / "slipway")

    def profiles(self) -> tuple[str | None, dict[str, Profile]]:
        """Return the name of the profile in use, and all profiles by name.

        Raises `SlipwayCliError`: the file is damaged.
        """
        if not self.profiles_file.exists():
            return None, {}
        try:
            data = yaml.safe_load(self._text(self.profiles_file)) or {}
            found = {str(name): Profile(**fields) for name, fields in (data.get("profiles") or {}).items()}
        except (yaml.YAMLError, AttributeError, TypeError) as error:
            raise SlipwayCliError(f"{self.profiles_file} is damaged; correct it, or remove it") from error
        return data.get("current"), found

    def save_profiles(self, current: str | None, profiles: Mapping[str, Profile]) -> None:
        """Replace the file, in one piece."""
        shown = {name: {key: value for key, value in asdict(item).items() if value} for name, item in profiles.items()}
        self._write(self.profiles_file, yaml.safe_dump({"current": current, "profiles": shown}, sort_keys=False))

    def profile(self, name: str) -> Profile:
        """Return a profile by its name. Raises `SlipwayCliError`: no profile has this name."""
        _, profiles = self.profiles()
        if name not in profiles:
            add = f"`slipway profile add {name} URL` makes it"
            raise SlipwayCliError(f"there is no profile {name!r}.{suggestion(name, profiles)} {add}")
        return profiles[name]

    def login(self, url: str, user: str | None = None) -> Login | None:
        """Return the user's login at this server, without a user the newest one there; None when there is none.

        Raises `SlipwayCliError`: others can read the file, or it is damaged.
        """
        found = [login for login in self._logins() if login.at(url, user)]
        return found[-1] if found else None

    def save_login(self, login: Login) -> None:
        """Store a login, in a file of mode 0600, in place of an older one of this user at this server."""
        self._write_logins([*(kept for kept in self._logins() if not kept.at(login.url, login.user)), login])

    def forget_login(self, url: str, user: str | None = None) -> bool:
        """Forget the user's login at this server, or everybody's there; return whether there was one."""
        kept = self._logins()
        left = [login for login in kept if not login.at(url, user)]
        if len(left) != len(kept):
            self._write_logins(left)
        return len(left) != len(kept)

    def forget_logins(self) -> None:
        """Remove the file with all tokens, also a damaged one."""
        try:
            self.tokens_file.unlink(missing_ok=True)
        except OSError as error:
            raise SlipwayCliError(f"{self.tokens_file} cannot be removed: {error.strerror or error}") from error

    def _write_logins(self, logins: Iterable[Login]) -> None:
        data = {f"{item.user} {item.url}": {"url": item.url, "user": item.user, "token": item.token} for item in logins}
        self._write(self.tokens_file, json.dumps(data, indent=1))

    def _logins(self) -> list[Login]:
        """All logins, the newest last."""
        if not self.tokens_file.exists():
            return []
        if os.name == "posix" and self.tokens_file.stat().st_mode & _TOO_OPEN:
            raise SlipwayCliError(
                f"{self.tokens_file} holds tokens and others may have read it: `slipway logout --all`, and log "
                f"in again; or, if you are sure that nobody did, `chmod 600 {self.tokens_file}`"
            )
        try:
            data: dict[str, Any] = json.loads(self._text(self.tokens_file) or "{}")
            # The keys tell nothing more: in older files they are names of profiles.
            return [Login(item["url"], item["user"], item["token"]) for item in data.values()]
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            raise SlipwayCliError(f"{self.tokens_file} is damaged: `slipway logout --all`, and log in again") from error

    @staticmethod
    def _text(path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SlipwayCliError(f"{path} cannot be read: {error}") from error

    @staticmethod
    def _write(path: Path, text: str) -> None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(path, text)
        except OSError as error:
            raise SlipwayCliError(f"{path} cannot be written: {error.strerror or error}") from error
