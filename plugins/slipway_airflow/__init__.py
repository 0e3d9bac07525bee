"""Slipway on Apache Airflow: operators, triggers, the connection type and the REST API.

Everything here is wiring between Airflow, the store and a provisioner. What a deployment means is decided in
``strategy_lib``, and nothing here may know better.
"""
