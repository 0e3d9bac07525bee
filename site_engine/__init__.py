"""Carries actions out: it asks the store, lets `strategy_lib` decide, tells the provisioner, and writes it down.

Here belong steps and attempts, operations and their ends, plans, the trees that people see, and the controller's jobs.
Rules that need no store are in `strategy_lib`, and SQL is in `site_store`.
It knows neither Airflow nor HTTP, so that all of it runs in a task, in the API server and in a test.
"""
