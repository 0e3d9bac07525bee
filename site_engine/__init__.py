"""Carries actions out on a site's nodes: groups, steps, operations, reports. No Airflow, no HTTP, no SQL of its own."""
