#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# `make sweep`: from a fresh clone to a report. Builds what is not built yet, then measures a preset
# (PRESET=quick|full). Further arguments go to `shardsweep sweep`.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/jdk.sh"
"$root/scripts/plugin.sh" --all
"$root/scripts/lusearch.sh"
"$root/scripts/venv.sh"
exec "$root/build/venv/bin/shardsweep" sweep --preset "${PRESET:-quick}" "$@"
