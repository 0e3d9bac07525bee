"""Python imports this first in a process whose PYTHONPATH has its folder: a simulated MAAS is held from there on.

See `tests/support/held_maas.py`. In any other process it does nothing.
"""

import sys

if "provisioner_client.simulator" in sys.orig_argv and "maas" in sys.orig_argv:
    from tests.support.held_maas import hold_this_process

    hold_this_process()
