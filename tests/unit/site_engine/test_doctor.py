"""The doctor finds each mistake that was planted in an installation of five machines, and nothing where all is well."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from site_engine.doctor.facts import Level
from site_engine.doctor.judging import judge
from site_store import CheckRecord, Role, ServerFacts
from strategy_lib.airflow_settings import SETTINGS
from tests.unit.site_engine.planted_mistakes import (
    DAY,
    MISTAKES,
    NOW,
    SETTINGS_OF_ALL,
    WELL,
    changed,
    process,
    said,
    setting,
    without,
)


def test_nothing_is_found_where_all_is_well() -> None:
    report = judge(WELL)
    assert (report.findings, report.has_errors) == ([], False)
    assert report.not_looked_at == ["free space of PostgreSQL's disk: it does not tell"]
    assert len(report.looked_at) == 6


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_found_by_itself_with_the_line_to_change(mistake: str) -> None:
    plant, level, what, fix = MISTAKES[mistake]
    report = judge(plant(WELL))
    assert [finding.level for finding in report.findings if what in finding.what] != [], report.findings
    found = next(finding for finding in report.findings if what in finding.what)
    assert (found.level, report.has_errors) == (level, level is Level.ERROR)
    assert fix in found.fix
    assert found.why
    # It has no other cause: nothing else is said than of the same thing.
    assert {finding.why for finding in report.findings} == {found.why}


@pytest.mark.parametrize("row", SETTINGS, ids=lambda row: row.name)
def test_each_row_of_a_setting_fits_what_it_says_to_use(row: Any) -> None:
    assert row.is_good(row.use)
    wrong = {"True": "False", "False": "True"}.get(row.use, "-1" if row.is_good("999999") else "999999")
    report = judge(setting(Role(row.read_by[0]), row.name, wrong)(WELL))
    assert [finding.fix.split("   ")[0] for finding in report.findings] == [row.line()]


def test_the_same_files_of_dags_in_another_folder_are_no_mistake() -> None:
    assert judge(said(Role.WORKER, "worker3", dag_folders=["/opt/python3.12/dags"])(WELL)).findings == []
    # Nor is a bundle of others beside it.
    assert judge(said(Role.WORKER, "worker3", bundles=["another", "dags-folder"])(WELL)).findings == []


def test_a_store_of_which_no_process_knows_is_said_to_have_none() -> None:
    assert judge(replace(WELL, processes=[])).looked_at[0] == "the store, in which no running process is noted"
    one = judge(replace(WELL, processes=[process(Role.SCHEDULER, "a")])).looked_at[0]
    assert one == "the store, and what 1 process noted (scheduler on a)"


def test_what_was_asked_just_now_is_said_once() -> None:
    checks = [CheckRecord(subject, "old", NOW, NOW) for subject in ("airflow: scheduler", "provisioner of site north")]
    assert judge(replace(WELL, checks=checks)).findings == []
    assert len(judge(replace(WELL, checks=checks, health=None, provisioners=None)).findings) == 2


def test_what_could_not_be_asked_is_not_fine() -> None:
    unknown = replace(WELL, dags=None, health=None, provisioners=None, not_looked_at=["DAGs: not logged in"])
    report = judge(unknown)
    assert "DAGs: not logged in" in report.not_looked_at
    assert not {"Airflow's DAGs", "Airflow's health"} & set(report.looked_at)
    silent = judge(replace(WELL, controller_leads=False, checks=[CheckRecord("airflow", "old", NOW, NOW)]))
    assert (silent.findings, "the controller's checks: no controller leads" in silent.not_looked_at) == ([], True)


def test_a_worker_without_a_task_since_the_start_is_not_judged_by_its_old_note() -> None:
    old = changed(Role.WORKER, "worker1", version="0.9", last_sign=NOW - 2 * DAY)(WELL)
    report = judge(old)
    assert report.findings == []
    assert "worker on worker1: no task has run there since the schedulers were started" in report.not_looked_at


def test_a_process_that_was_started_again_is_not_silent() -> None:
    gone = changed(Role.SCHEDULER, "control1", last_sign=NOW - timedelta(hours=2))(WELL)
    again = replace(process(Role.SCHEDULER, "control1"), id="again", started=NOW - timedelta(hours=1))
    assert judge(replace(gone, processes=[*gone.processes, again])).findings == []


def test_a_process_that_airflow_knows_and_the_store_does_not() -> None:
    (finding,) = judge(without(Role.SCHEDULER)(WELL)).findings
    assert "a scheduler runs, by what Airflow says, and Slipway does not know of it" in finding.what
    (finding,) = judge(replace(without(Role.SCHEDULER)(WELL), health=None)).findings
    assert finding.what == "no scheduler runs"


def test_keys_that_are_being_changed_are_a_warning_while_each_reads_what_the_others_write() -> None:
    new = said(Role.API_SERVER, "control1", keys={"core.fernet_key": ["new", "digest of core.fernet_key"]})(WELL)
    both = said(Role.API_SERVER, "control2", keys={"core.fernet_key": ["digest of core.fernet_key", "new"]})(new)
    assert [finding.level for finding in judge(new).findings] == [Level.ERROR]
    assert [finding.level for finding in judge(both).findings] == [Level.WARNING]


def test_one_machine_needs_no_names_for_logs_and_no_setting_of_celery() -> None:
    local = {**SETTINGS_OF_ALL, "core.executor": "LocalExecutor", "scheduler.task_queued_timeout": "600"}
    local |= {
        "core.auth_manager": "x.SimpleAuthManager",
        "core.execution_api_server_url": "http://127.0.0.1/execution/",
    }
    one = [
        replace(found, host="here", environment={**found.environment, "settings": local, "hostname": "localhost"})
        for found in WELL.processes
        if found.host == "control1" and found.role != Role.WORKER
    ]
    assert judge(replace(WELL, processes=one)).findings == []


def test_a_pooler_before_the_store_makes_its_connections_no_matter_of_the_doctor_s() -> None:
    report = judge(replace(WELL, server=ServerFacts(20, is_pooled=True)))
    assert report.findings == []
    assert "PostgreSQL's connections: a pooler stands before it" in report.not_looked_at
