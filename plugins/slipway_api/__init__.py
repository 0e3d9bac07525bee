"""Slipway's REST API and its pages, by subject.

Here belong routes, rights, the shapes of answers, and the pages' templates.
What an answer says is computed in `site_engine` and `site_store`, so that the command line and a test see the same.
Airflow is asked in `http/airflow_access.py` alone.
"""
