"""The tests of this folder see dumbtorch as `cmake --install` leaves it, in a folder of its own."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

BUILD = Path(__file__).resolve().parents[2] / "build"


@dataclass(frozen=True)
class Installed:
    prefix: Path

    @property
    def include(self) -> Path:
        return self.prefix / "include"

    @property
    def libraries(self) -> Path:
        return next(self.prefix.glob("lib*/**/libdumbtorch.so")).parent

    def environment(self) -> dict[str, str]:
        """What a user sets who has installed to a folder that the system does not search."""
        return os.environ | {
            "PKG_CONFIG_PATH": str(self.libraries / "pkgconfig"),
            "CMAKE_PREFIX_PATH": str(self.prefix),
        }

    def run(self, *command: object, **environment: str) -> str:
        result = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            env=self.environment() | environment,
        )
        assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stderr}"
        return result.stdout


@pytest.fixture(scope="session")
def installed(tmp_path_factory) -> Installed:
    if not (BUILD / "libdumbtorch.so").exists():
        pytest.fail("build/libdumbtorch.so is missing: make build")
    prefix = tmp_path_factory.mktemp("prefix")
    command = ["cmake", "--install", str(BUILD), "--prefix", str(prefix)]
    subprocess.run(command, check=True, capture_output=True)
    return Installed(prefix)
