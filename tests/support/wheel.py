"""Slipway's wheel, built from a copy of the source tree."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from uv import find_uv_bin

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "api_client": "api_client",
    "dags": "slipway_dags",
    "design_rendering": "design_rendering",
    "plugins/slipway_airflow": "slipway_airflow",
    "plugins/slipway_api": "slipway_api",
    "provisioner_client": "provisioner_client",
    "schemas": "slipway_schemas",
    "site_engine": "site_engine",
    "site_store": "site_store",
    "slipway_cli": "slipway_cli",
    "strategy_lib": "strategy_lib",
}
"""Folder in the tree -> package in the wheel. Each of them, with all that is in it, is what Slipway runs with."""
_BESIDE = ("LICENSE", "README.md", "pyproject.toml", "setup.cfg")


def package_files(root: Path = ROOT) -> dict[str, Path]:
    """Every file of the packages, by its name in the wheel; compiled code is left out."""
    return {
        f"{package}/{file.relative_to(root / folder).as_posix()}": file
        for folder, package in PACKAGES.items()
        for file in sorted((root / folder).rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    }


def build_wheel(work: Path) -> Path:
    """Build the wheel without a network, with the setuptools of this environment, from a copy of the tree in `work`.

    A build leaves folders beside `setup.cfg`, from which a later one would take files that the tree has no more.
    """
    tree = work / "tree"
    for name in _BESIDE:
        tree.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    for file in package_files().values():
        copy = tree / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    done = subprocess.run(
        [
            find_uv_bin(),
            *("build", "--wheel", "--offline", "--no-config", "--no-build-isolation"),
            *("--python", sys.executable, "--out-dir", str(work / "wheel"), str(tree)),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (work / "wheel").glob("*.whl")
    return wheel
