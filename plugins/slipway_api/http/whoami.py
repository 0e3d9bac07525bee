"""Who asks, and what Airflow lets them do: for people who want to know before they are refused."""

from __future__ import annotations

from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from site_engine.kinds import KINDS
from slipway_api.http import airflow_access as access
from slipway_api.http.answers import answers
from slipway_api.http.dependencies import blocking_router

router = blocking_router("service")


class Whoami(BaseModel):
    """A user, and their rights; docs/api.md says which right in Airflow each of them is."""

    user: str = Field(examples=["ann"])
    read: list[str] = Field(examples=[["deploy_site"]], description="Kinds of action that they see.")
    create: list[str] = Field(examples=[["deploy_site"]], description="Kinds of action that they may start.")
    control: list[str] = Field(examples=[["deploy_site"]], description="Kinds that they may stop, pause and unpause.")
    commit: bool = Field(examples=[True], description="Documents: load, commit, roll back, discard.")
    manage: bool = Field(examples=[True], description="Retry, set states of nodes, stop repair, make reporters.")
    read_secrets: bool = Field(examples=[False], description="See secrets in documents.")
    connect: bool = Field(examples=[False], description="Make connections in Airflow.")


@router.get("/whoami", dependencies=[access.may_read], summary="Who asks", responses=answers(Whoami))
def get_whoami(caller: access.CallerDep) -> JSONResponse:
    """Return who asks, and what they may do: what Airflow's auth manager says now, of each right by itself."""
    kinds = tuple(KINDS)
    found = Whoami(
        user=caller.name,
        read=[kind for kind in kinds if caller.may_read(kind)],
        create=[kind for kind in kinds if caller.may_create(kind)],
        control=[kind for kind in kinds if caller.may_control(kind)],
        commit=caller.may_create(access.COMMIT_DAG),
        manage=caller.may_control(access.COMMIT_DAG),
        read_secrets=caller.may_read_cleartext(),
        connect=caller.may_connect(),
    )
    return JSONResponse(found.model_dump())
