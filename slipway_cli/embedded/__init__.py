"""The Airflow that Slipway brings along: four components as processes of their own, all on loopback.

For demos, tests and small sites. It is not for production, where the four components are services of their own
(see docs/running.md).
"""
