"""Slipway's REST API, by subject. Airflow is asked in `airflow_access.py` and `airflow_client.py`."""
