"""The tables of MAAS's side in the simulator's SQLite file."""

from __future__ import annotations

MAAS_TABLES = (
    "maas_machine",
    "maas_event",
    "maas_tag",
    "maas_place",
    "maas_script_set",
    "maas_cost",
    "maas_act",
    "maas_nonce",
)

MAAS_SCHEMA = """
CREATE TABLE IF NOT EXISTS maas_machine (
    system_id TEXT PRIMARY KEY,
    data TEXT NOT NULL
) WITHOUT ROWID;

-- the ledger; ids only grow
CREATE TABLE IF NOT EXISTS maas_event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    system_id TEXT NOT NULL,
    hostname TEXT NOT NULL,
    level TEXT NOT NULL,
    type TEXT NOT NULL,
    description TEXT NOT NULL,
    username TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS maas_event_machine ON maas_event (system_id, id);

-- created: how often a tag of this name was created; gone: it was deleted; number: its place among all that were made
CREATE TABLE IF NOT EXISTS maas_tag (
    name TEXT PRIMARY KEY,
    comment TEXT NOT NULL,
    definition TEXT NOT NULL,
    kernel_opts TEXT NOT NULL,
    number INTEGER NOT NULL,
    created INTEGER NOT NULL,
    gone INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- zones and pools
CREATE TABLE IF NOT EXISTS maas_place (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    UNIQUE (kind, name)
);

CREATE TABLE IF NOT EXISTS maas_script_set (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    system_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    started REAL NOT NULL,
    ended REAL,
    output TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS maas_script_set_machine ON maas_script_set (system_id, id);

-- requests by kind, and the machines in their answers
CREATE TABLE IF NOT EXISTS maas_cost (
    kind TEXT PRIMARY KEY,
    requests INTEGER NOT NULL,
    machines INTEGER NOT NULL
) WITHOUT ROWID;

-- what was really begun on a machine, for the detector
CREATE TABLE IF NOT EXISTS maas_act (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    phase TEXT NOT NULL,
    system_id TEXT NOT NULL,
    node TEXT NOT NULL,
    reference TEXT,
    at REAL NOT NULL,
    over REAL
);
CREATE INDEX IF NOT EXISTS maas_act_under_way ON maas_act (id) WHERE over IS NULL;
CREATE INDEX IF NOT EXISTS maas_act_machine ON maas_act (system_id, over);

-- nonces of the last minutes: each is taken once, also after a restart
CREATE TABLE IF NOT EXISTS maas_nonce (
    nonce TEXT PRIMARY KEY,
    at REAL NOT NULL
) WITHOUT ROWID;
"""
