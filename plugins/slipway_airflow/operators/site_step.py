"""Verify or prepare the site as a whole at the provisioner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowSkipException

from site_engine import site_steps
from site_engine.operations.run import OperationRun
from site_engine.operations.wait import PhaseTimes
from site_store import SiteStore
from slipway_airflow.operators.base import design_address
from slipway_airflow.operators.waiting import WaitingOperator
from strategy_lib.phase import Phase

if TYPE_CHECKING:
    from airflow.sdk import Context

    from site_engine.provisioners import ProvisionerConnection


class SiteStepOperator(WaitingOperator):
    """Carry out one step of the site.

    Parameters
    ----------
    phase : str
        ``verify_site`` or ``prepare_site``.
    configuration : dict
        The design's settings, as ``load_design`` returned them (templated).
    """

    template_fields = ("configuration",)

    def __init__(self, *, phase: str, configuration: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.phase = phase
        self.configuration = configuration

    def carry_out(
        self, context: Context, store: SiteStore, connection: ProvisionerConnection, operations: OperationRun
    ) -> Any:
        """Submit the step or re-join it, and see it to its end."""
        action = self.action(store, context)
        if action.dry_run:
            raise AirflowSkipException(f"dry run: {self.phase} is not submitted")
        configuration, settings = self.configuration, connection.settings
        prefix = "verify" if self.phase == "verify_site" else "prepare_site"
        request = site_steps.SiteStepRequest(
            action_id=action.id,
            site=action.site,
            phase=Phase(self.phase),
            # Airflow raises max_tries when a person clears the task, and only then.
            attempt=int(context["ti"].max_tries),
            design_ref=design_address(store, action, connection),
            times=PhaseTimes(
                min(float(configuration[f"{prefix}_interval"]), settings.poll_interval),
                float(configuration[f"{prefix}_timeout"]),
                settings.queue_timeout,
            ),
        )
        return site_steps.run_site_step(operations, request)
