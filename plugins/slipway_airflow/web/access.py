"""Who may do what, asked of Airflow's auth manager. The one module that imports Airflow's unofficial API."""

from __future__ import annotations

from typing import Annotated

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.core_api.security import GetUserDep, requires_access_dag
from fastapi import Depends

# Committing a design is as weighty as starting its deployment: whoever may trigger deploy_site may commit.
may_commit = Depends(requires_access_dag("POST", DagAccessEntity.RUN, "deploy_site"))
may_read_run = Depends(requires_access_dag("GET", DagAccessEntity.RUN))


def user_name(user: GetUserDep) -> str:
    """Return the name of the caller."""
    return str(user.get_name())


UserName = Annotated[str, Depends(user_name)]
