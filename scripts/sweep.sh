#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# `make sweep`: measures a preset (PRESET=quick|full) with what is built. Further arguments go to `shardsweep sweep`.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/venv.sh"
exec "$root/build/venv/bin/shardsweep" sweep --preset "${PRESET:-quick}" "$@"
