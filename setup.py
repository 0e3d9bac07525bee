"""What of the build is no plain data: the version, which is asked of Git (all else: setup.cfg)."""

import sys
from pathlib import Path

from setuptools import setup

TREE = Path(__file__).parent.resolve()
sys.path.insert(0, str(TREE))

from site_engine.version import version_of  # noqa: E402

setup(version=version_of(TREE))
