"""The domain of Slipway, pure: no I/O, no clock, no Airflow, no SQL."""
