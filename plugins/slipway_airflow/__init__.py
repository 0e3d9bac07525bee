"""Slipway on Apache Airflow: operators, triggers, hook, connection type, API."""
