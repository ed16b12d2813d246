# SPDX-License-Identifier: MIT OR Apache-2.0
"""What tests ask of processes that are not their children."""

import os
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Whether the process is there. One that has ended, and that nobody has waited for yet, is not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
