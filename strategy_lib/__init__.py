"""What a deployment means, pure: start at `deployment.py` and `simulation.py`.

Here belong decisions: which group and node is next, what an end proves, how a status rolls up.
Values come in and go out; there is no I/O, no clock, no SQL and no Airflow.
Documents and their YAML are in `design_rendering`, and what was decided is carried out by `site_engine`.
"""

from strategy_lib.deployment import Deployment
from strategy_lib.errors import (
    InventoryError,
    Problem,
    StrategyError,
    StrategyLibError,
)
from strategy_lib.goals.update import plan_update
from strategy_lib.node import Node, NodeState
from strategy_lib.node_condition import NodeCondition
from strategy_lib.node_states.generated import generated_state
from strategy_lib.node_states.repair import retry_delay
from strategy_lib.ordering import order_groups
from strategy_lib.outcome import Evidence, Outcome, judge
from strategy_lib.parsing.configuration import DeploymentConfiguration, parse_configuration
from strategy_lib.parsing.strategy_parser import nodes_from_inventory, parse_strategy
from strategy_lib.phase import Finished, GroupState, Phase, Reason, Step, Verdict
from strategy_lib.selectors import NodeIndex, resolve
from strategy_lib.simulation import simulate
from strategy_lib.status.roll_up import roll_up, shown_status
from strategy_lib.strategy import CriterionResult, Group, Label, Selector, Strategy, SuccessCriteria
from strategy_lib.verdict import GroupCounts, counts_of
from strategy_lib.warnings import strategy_warnings
