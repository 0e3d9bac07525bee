"""Reading strategy, configuration, settings and notifications from plain data, with every problem named."""
