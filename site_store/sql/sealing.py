"""Keys of the store, and texts that hold secrets as they are stored: encrypted, and found by keyed digests (rule 62).

The store knows no Airflow: who opens it hands in keys, such as Airflow's. A text is encrypted with the first key of the
list, and read with whichever it needs. Which that is, the text says: by a fingerprint, which says nothing elsewhere.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import stat
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from cryptography.fernet import Fernet, InvalidToken
from sqlalchemy import Connection, text

from design_rendering.kinds.objects import DigestKey, keyed
from site_store.sql.errors import StoreError, StoreNotConfigured, ValueRefused
from strategy_lib.settings import SLIPWAY_DATABASE_URL, SLIPWAY_HOME, SLIPWAY_STORE_KEYS_FILE

KEYS_FILE: Final = "store.keys"
"""A home's file with the keys of its store: `slipway up` writes it."""

_SEALED: Final = b"\x02"
"""The first byte of what is encrypted; that of a compressed text is another. A fingerprint follows."""
_PRINT: Final = 8
"""Bytes of a fingerprint."""
_CLEAR: Final = b"\x01"
"""The first byte of the key of digests where it is not encrypted: no process with keys has needed it yet."""
MAKE_CLEAR: Final = (
    "UPDATE store_state SET digest_key = decode('01', 'hex') || uuid_send(gen_random_uuid()) || "
    "uuid_send(gen_random_uuid())"
)
"""It is made by the database there, so that no log has it."""
_HANDLE: Final = 16
"""Characters of a design's handle; its token has as many more as make 43."""
_ADDED: Final = 43 - _HANDLE
_HOW: Final = 'make one with python -c "from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())"'


class NoKey(ValueRefused):
    """The store has no key, and so takes no text that holds secrets: give it one (`SLIPWAY_STORE_KEYS_FILE`)."""


class KeyMissing(StoreError):
    """A text is encrypted with a key that this process does not have: add it to the keys of the store."""


_handed: list[Callable[[], str]] = []


def use_keys(handed: Callable[[], str]) -> None:
    """Say what returns the keys, with commas between them, of a store for which no setting names any."""
    _handed[:] = [handed]


def read_keys(url: str | None = None, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the keys of the store, the one that encrypts first; none where there is none.

    They are those of `SLIPWAY_STORE_KEYS_FILE`. Else, where the store is a `slipway up`'s, those of its home; else
    those that `use_keys` was given.

    Parameters
    ----------
    url : of the store, where the caller named one.
    environ : the environment variables; those of the process by default.

    Raises
    ------
    StoreNotConfigured : the file cannot be read, others than its owner may read it, or what it has is no key.
    """
    variables = os.environ if environ is None else environ
    file, origin = SLIPWAY_STORE_KEYS_FILE.read(variables), SLIPWAY_STORE_KEYS_FILE.name
    if file is None and not url and not SLIPWAY_DATABASE_URL.read(variables):
        own = SLIPWAY_HOME.read(variables).expanduser().absolute() / KEYS_FILE
        file = own if own.exists() else None
    if file is not None:
        found, origin = _read(file, origin), f"{origin}: {file}"
    else:
        found, origin = _handed[0]() if _handed else "", "Airflow's [core] fernet_key"
    keys = tuple(found.replace(",", " ").split())
    for number, key in enumerate(keys, 1):
        try:
            Fernet(key)
        except ValueError:
            raise StoreNotConfigured(f"{origin}: key {number} of {len(keys)} is no Fernet key: {_HOW}") from None
    if file is not None and not keys:
        raise StoreNotConfigured(f"{origin} has no key: {_HOW}")
    return keys


def _read(file: Path, origin: str) -> str:
    try:
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            raise StoreNotConfigured(f"{origin}: others may read {file}: run chmod 600 {file}")
        return file.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise StoreNotConfigured(f"{origin}: {file} cannot be read ({reason})") from error


def fingerprint(salt: str, key: str, name: str = "store key") -> str:
    """Return what a key is called: 16 hexadecimal digits, that say nothing of it, nor in another installation.

    Parameters
    ----------
    salt : of the installation (`store.processes.salt()`).
    name : what the key is for; the same key has another fingerprint for something else.
    """
    return hmac.new(salt.encode(), f"{name}\0{key}".encode(), hashlib.sha256).hexdigest()[: 2 * _PRINT]


class Sealing:
    """Encrypts and decrypts texts of one store. What it needs of the store is read when it is first needed, and kept.

    Parameters
    ----------
    keys : of the store, the one that encrypts first.
    read, write : run a function in a transaction of their own.
    """

    def __init__(
        self,
        keys: tuple[str, ...],
        read: Callable[[Callable[[Connection], Any]], Any],
        write: Callable[[Callable[[Connection], Any]], Any],
    ) -> None:
        self.keys = keys
        self._read, self._write = read, write
        self._by_print: dict[str, Fernet] = {}
        self._digest_key: tuple[bytes, DigestKey] | None = None

    def prints(self) -> tuple[str, ...]:
        """Return the fingerprints of the keys, that of the one that encrypts first."""
        if len(self._by_print) < len(set(self.keys)):
            salt = self._read(lambda tx: tx.scalar(text("SELECT salt FROM store_state")))
            self._by_print = {fingerprint(str(salt), key): Fernet(key) for key in self.keys}
        return tuple(self._by_print)

    def require_key(self) -> None:
        """Raise `NoKey` where there is no key to encrypt with."""
        if not self.keys:
            raise NoKey(
                "it holds secrets, which are stored encrypted, and the store has no key: set "
                f"{SLIPWAY_STORE_KEYS_FILE.name} to a file with a Fernet key, or Airflow's [core] fernet_key, the same "
                f"for every process; {_HOW}"
            )

    def seal(self, written: str, secret: bool) -> bytes:
        """Return a text as it is stored: compressed, and encrypted where it holds secrets. Raises `NoKey`."""
        packed = zlib.compress(written.encode(), 1)
        if not secret:
            return packed
        self.require_key()
        first = self.prints()[0]
        return _SEALED + bytes.fromhex(first) + base64.urlsafe_b64decode(self._by_print[first].encrypt(packed))

    def open(self, stored: bytes) -> str:
        """Return the text of what is stored. Raises `KeyMissing`; `StoreError`: it is damaged."""
        sealed_with = print_of(stored)
        if sealed_with is None:
            return zlib.decompress(stored).decode()
        if sealed_with not in self.prints():
            raise KeyMissing(
                f"it is encrypted with the key of fingerprint {sealed_with}, and this process has "
                f"{', '.join(self.prints()) or 'none'}: add that key to the file of {SLIPWAY_STORE_KEYS_FILE.name}, or "
                "to Airflow's [core] fernet_key, behind the others, and start the process again"
            )
        token = base64.urlsafe_b64encode(stored[1 + _PRINT :])
        try:
            return zlib.decompress(self._by_print[sealed_with].decrypt(token)).decode()
        except InvalidToken:
            raise StoreError("a text of the store is damaged: restore the store from a backup") from None

    def open_if(self, stored: bytes | None) -> str | None:
        """Return the text of what is stored, None for None. Raises as `open`."""
        return None if stored is None else self.open(stored)

    def digest(self, written: str, secret: bool) -> str:
        """Return the digest by which a text is found again: keyed where it holds secrets, which could be guessed else.

        It stays the same when keys change. Not to be called within a transaction that writes. Raises `NoKey`,
        `KeyMissing`.
        """
        if not secret:
            return plain_digest(written)
        self.require_key()
        stored = self._stored_digest_key()
        if print_of(stored) is None:
            # The first secret of this store: from now on who has a dump has not its key of digests.
            sealed = text("UPDATE store_state SET digest_key = :sealed WHERE substr(digest_key, 1, 1) = :clear")
            made = {"sealed": self.seal_digest_key(self.open_digest_key(stored)), "clear": _CLEAR}
            self._write(lambda tx: tx.execute(sealed, made))
        return keyed(self.open_digest_key(stored), written)

    def digest_key(self) -> DigestKey:
        """Return the store's own key of digests: made with the store, it stays when other keys change, or come.

        It is asked for each time: a backup that was restored under this process has another. Raises `KeyMissing`: it
        is encrypted with a key that this process does not have.
        """
        return self.open_digest_key(self._stored_digest_key())

    def design_token(self, handle: str) -> str:
        """Return the token that opens a design: its handle, and what no dump tells. Raises `KeyMissing`."""
        added = hmac.digest(self.digest_key(), f"\0design\0{handle}".encode("utf-8", "surrogatepass"), "sha256")
        return handle + base64.urlsafe_b64encode(added).decode()[:_ADDED]

    def handle_of(self, token: str) -> str:
        """Return by what the store knows the design of a token: its handle, or a hash of the token."""
        handle = token[:_HANDLE]
        made = self.design_token(handle).encode("utf-8", "surrogatepass")
        return handle if hmac.compare_digest(made, token.encode("utf-8", "surrogatepass")) else hashed_token(token)

    def _stored_digest_key(self) -> bytes:
        stored = self._read(lambda tx: tx.scalar(text("SELECT digest_key FROM store_state")))
        if stored is None:
            raise StoreError("the table store_state has lost the key of digests: restore the store from a backup")
        return bytes(stored)

    def open_digest_key(self, stored: bytes) -> DigestKey:
        """Return the key of digests, which the store has as `stored`. Raises as `open`."""
        if self._digest_key is None or self._digest_key[0] != stored:
            is_clear = stored[:1] == _CLEAR
            self._digest_key = stored, DigestKey(stored[1:] if is_clear else bytes.fromhex(self.open(stored)))
        return self._digest_key[1]

    def seal_digest_key(self, key: DigestKey) -> bytes:
        """Return the key of digests as it is stored, encrypted. Raises `NoKey`."""
        return self.seal(key.hex(), True)


def make_digest_key(tx: Connection, keys: tuple[str, ...]) -> DigestKey:
    """Return the key of digests in the upgrade's transaction, and make it where the store has none.

    It is encrypted with the first of the keys; without any it stands in clear until a process with keys needs it.

    Raises `KeyMissing`: the store has one, which none of the keys opens.
    """
    sealing = Sealing(keys, lambda work: work(tx), lambda work: work(tx))
    if tx.scalar(text("SELECT digest_key IS NULL FROM store_state")):
        if keys:
            made = {"made": sealing.seal_digest_key(DigestKey(secrets.token_bytes(32)))}
            tx.execute(text("UPDATE store_state SET digest_key = :made"), made)
        else:
            tx.execute(text(MAKE_CLEAR))
    return sealing.digest_key()


def hashed_token(token: str) -> str:
    """Return what is kept of a token that is kept nowhere itself: of a candidate, and of revisions of Slipway 0.9.0."""
    made = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
    return base64.urlsafe_b64encode(made).decode()[:_HANDLE]


def plain_digest(written: str) -> str:
    """Return the digest of a text that holds no secret."""
    return hashlib.sha256(written.encode()).hexdigest()


def print_of(stored: bytes) -> str | None:
    """Return the fingerprint of the key that a stored text is encrypted with; None: it is in clear."""
    return stored[1 : 1 + _PRINT].hex() if stored[:1] == _SEALED else None
