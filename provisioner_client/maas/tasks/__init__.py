"""A task of MAAS: its tag, its start, each next step, its progress and its evidence."""
