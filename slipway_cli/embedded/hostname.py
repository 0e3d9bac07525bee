"""The host name of every component, for Airflow's `[core] hostname_callable`."""


def loopback() -> str:
    """All components run here, and nothing of them is reachable from elsewhere."""
    return "localhost"
