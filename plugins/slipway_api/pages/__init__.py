"""The pages below ``/slipway/ui/``: HTML from the server, shown inside Airflow's own. Start at `rendering.py`."""
