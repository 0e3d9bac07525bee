"""The scripts in the store, so that they survive a restart."""

from __future__ import annotations

import json
from collections.abc import Iterable

from provisioner_client.simulator.scripts import Script, parse_script
from provisioner_client.simulator.store import Store


class ScriptBook:
    """All scripts, oldest first; adding one with the key of another replaces it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self) -> list[Script]:
        """Return the scripts, oldest first."""
        return [
            parse_script(json.loads(row["data"])) for row in self._store.rows("SELECT data FROM script ORDER BY id")
        ]

    def add(self, scripts: Iterable[Script]) -> None:
        """Add scripts."""
        with self._store.transaction():
            known = {script.key: script for script in self.all()}
            for script in scripts:
                known.pop(script.key, None)
                known[script.key] = script
            self.clear()
            self._store.execute_many(
                "INSERT INTO script (data) VALUES (?)", [(json.dumps(script.to_data()),) for script in known.values()]
            )

    def clear(self) -> None:
        """Forget all scripts."""
        self._store.execute("DELETE FROM script")
