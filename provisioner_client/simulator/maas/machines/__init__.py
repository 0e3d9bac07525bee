"""MAAS's machines: statuses, what actions do, and how they are shown."""
