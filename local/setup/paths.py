"""Where setup puts things. All of it is below the checkout."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCAL = ROOT / ".local"
BIN = LOCAL / "bin"
STAMPS = LOCAL / "setup"
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
UV = LOCAL / "uv" / "bin" / "uv"
HERE = Path(__file__).parent
