# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m shardsweep` is `shardsweep`."""

import sys

from shardsweep.cli import main

sys.exit(main())
