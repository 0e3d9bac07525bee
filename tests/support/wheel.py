"""Slipway's wheel, built from a copy of the source tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

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
_BESIDE = ("LICENSE", "README.md", "VERSION", "pyproject.toml", "setup.cfg", "setup.py")


def package_files(root: Path = ROOT) -> dict[str, Path]:
    """Every file of the packages, by its name in the wheel; compiled code is left out."""
    return {
        f"{package}/{file.relative_to(root / folder).as_posix()}": file
        for folder, package in PACKAGES.items()
        for file in sorted((root / folder).rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    }


def build_wheel(work: Path) -> Path:
    """Build the wheel without a network, with the setuptools of this environment, from a copy of the tree in `work`."""
    return pack(copy_tree(work / "tree"), work / "wheel")


def copy_tree(tree: Path) -> Path:
    """Copy what a wheel is built of.

    A build leaves folders beside `setup.cfg`, from which a later one would take files that the tree has no more.
    """
    for name in _BESIDE:
        tree.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tree / name)
    for file in package_files().values():
        copy = tree / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    return tree


def pack(tree: Path, folder: Path, moment: int | None = None) -> Path:
    """Build the wheel of a tree into a folder, without a network, with the setuptools of this environment.

    `moment`: when the tree was made, in seconds since 1970: then the same tree gives the same bytes.
    """
    done = subprocess.run(
        [
            find_uv_bin(),
            *("build", "--wheel", "--offline", "--no-config", "--no-build-isolation"),
            *("--python", sys.executable, "--out-dir", str(folder), str(tree)),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        umask=0o022,
        env=os.environ | ({} if moment is None else {"SOURCE_DATE_EPOCH": str(moment)}),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


def files_sha256(wheel: Path) -> str:
    """Return a digest over the sorted files of a wheel, without what the tool that made it adds about them."""
    with ZipFile(wheel) as opened:
        names = sorted(name for name in opened.namelist() if ".dist-info/" not in name)
        lines = "".join(f"{sha256(opened.read(name)).hexdigest()}  {name}\n" for name in names)
    return sha256(lines.encode()).hexdigest()
