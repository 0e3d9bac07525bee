"""The tables of the simulator's store."""

TABLES = ("node", "task", "node_run", "submission", "script", "fault", "journal")

# Columns that a file made by an earlier version lacks.
LATER_COLUMNS = {
    "node": {
        "destroys": "INTEGER NOT NULL DEFAULT 0",
        "relabels": "INTEGER NOT NULL DEFAULT 0",
        "booted": "INTEGER NOT NULL DEFAULT 1",
    }
}

SCHEMA = """
-- the simulator's notes to itself
CREATE TABLE IF NOT EXISTS meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- MAAS's machines; due_*: what MAAS has under way on its own; booted: some boot action of the design is for it
CREATE TABLE IF NOT EXISTS node (
    site TEXT NOT NULL,
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    rack TEXT,
    tags TEXT NOT NULL,
    labels TEXT NOT NULL,
    oob_address TEXT,
    boot_address TEXT,
    booted INTEGER NOT NULL DEFAULT 1,
    status TEXT NOT NULL,
    power_state TEXT NOT NULL,
    hidden INTEGER NOT NULL DEFAULT 0,
    due_status TEXT,
    due_at REAL,
    prepares INTEGER NOT NULL DEFAULT 0,
    deploys INTEGER NOT NULL DEFAULT 0,
    destroys INTEGER NOT NULL DEFAULT 0,
    relabels INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (site, name)
);
CREATE INDEX IF NOT EXISTS node_due ON node (due_at) WHERE due_at IS NOT NULL;

-- root tasks; result and lists are decided with the plan, and shown when the task is complete
CREATE TABLE IF NOT EXISTS task (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL UNIQUE,
    tree TEXT NOT NULL UNIQUE,
    action TEXT NOT NULL,
    design_ref TEXT,
    node_filter TEXT,
    reference TEXT,
    status TEXT NOT NULL,
    result TEXT NOT NULL,
    successes TEXT NOT NULL DEFAULT '[]',
    failures TEXT NOT NULL DEFAULT '[]',
    note TEXT,
    site TEXT,
    node_count INTEGER NOT NULL DEFAULT 0,
    created REAL NOT NULL,
    created_by TEXT NOT NULL,
    started REAL,
    ends_at REAL,
    ended REAL,
    updated REAL NOT NULL,
    planned INTEGER NOT NULL DEFAULT 0,
    frozen_at REAL
);
CREATE INDEX IF NOT EXISTS task_status ON task (status, seq);
CREATE INDEX IF NOT EXISTS task_reference ON task (reference);

-- the course of one node through one task; begun: MAAS was told to work on the machine
CREATE TABLE IF NOT EXISTS node_run (
    task_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    site TEXT NOT NULL,
    node TEXT NOT NULL,
    begun INTEGER NOT NULL DEFAULT 0,
    plan TEXT NOT NULL,
    PRIMARY KEY (task_id, position)
) WITHOUT ROWID;

-- for the detector; outlives the task
CREATE TABLE IF NOT EXISTS submission (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL,
    reference TEXT,
    phase TEXT NOT NULL,
    node TEXT NOT NULL,
    at REAL NOT NULL,
    over REAL
);
CREATE INDEX IF NOT EXISTS submission_node ON submission (phase, node);
CREATE INDEX IF NOT EXISTS submission_task ON submission (task_id);

CREATE TABLE IF NOT EXISTS script (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    data TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS fault (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    remaining INTEGER NOT NULL,
    skip INTEGER NOT NULL,
    data TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS journal (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at REAL NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    query TEXT NOT NULL,
    reference TEXT,
    status INTEGER,
    effect TEXT NOT NULL,
    marker TEXT
);
"""
