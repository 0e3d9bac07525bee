"""What is installed without the source tree is whole."""

from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.wheel import PACKAGES, ROOT, build_wheel, package_files


@pytest.mark.endurance
def test_the_wheel_has_every_file_of_every_package(tmp_path: Path) -> None:
    with ZipFile(build_wheel(tmp_path)) as wheel:
        installed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert sorted(installed) == sorted(package_files()), "name the package or the file in setup.cfg"


def test_every_folder_with_code_is_a_package_of_the_wheel() -> None:
    folders = {folder.name for folder in ROOT.iterdir() if next(folder.glob("**/__init__.py"), None)}
    ours = {folder for folder in folders if not folder.startswith(".") and folder not in ("tests", "build")}
    assert ours == {folder.partition("/")[0] for folder in PACKAGES}
