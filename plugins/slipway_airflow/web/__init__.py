"""Slipway's REST API, served by Airflow's API server below ``/slipway``."""
