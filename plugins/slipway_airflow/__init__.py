"""Slipway on Apache Airflow: operators, triggers, the connection type and the REST API.

Here belongs wiring between Airflow, the store and a provisioner: what becomes a task, a trigger, a connection.
What a deployment means is decided in `strategy_lib`, and nothing here may know better.
"""
