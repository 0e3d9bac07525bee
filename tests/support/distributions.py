"""A small package that is installed: its module, and what an installer leaves of it beside that."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path


def install(
    folder: Path, name: str, source: str, entry_points: Mapping[str, Mapping[str, str]], version: str = "1.0"
) -> None:
    """Put a distribution of one module of the same name into a folder, which is to be on `sys.path`.

    Parameters
    ----------
    entry_points : by group, each place by its name, such as `{"slipway.policies": {"mine": "module:function"}}`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(source)
    for old in folder.glob(f"{name}-*.dist-info"):
        for file in old.iterdir():
            file.unlink()
        old.rmdir()
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [
        f"[{group}]\n" + "".join(f"{point} = {place}\n" for point, place in points.items())
        for group, points in entry_points.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    importlib.invalidate_caches()
