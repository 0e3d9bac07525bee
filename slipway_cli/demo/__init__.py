"""The demo: a real Airflow, simulated machines, one deployment."""
