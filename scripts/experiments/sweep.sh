#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# `make sweep`: from a fresh clone to a report. Builds what the preset (PRESET=quick by default) needs and is not built yet, then
# measures it. Further arguments go to `shardsweep sweep`.
set -euo pipefail
# Paths in the arguments are relative to where this was called: no change of directory here.
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

preset=${PRESET:-quick}
shardsweep=$OUT/venv/bin/shardsweep

# Bad input is told before anything is built.
[[ -f $ROOT/configs/presets/$preset.yml ]] || die "no preset $preset: configs/presets has $(cd "$ROOT/configs/presets" && echo *.yml)"

# procps has what running-ng calls.
need_packages python3 python3-venv procps
"$ROOT/scripts/experiments/venv.sh"
"$shardsweep" sweep --preset "$preset" --check "$@"
names=$("$shardsweep" plugins --preset "$preset")
"$ROOT/scripts/building/jdk.sh"
"$ROOT/scripts/building/lusearch.sh"
mapfile -t plugins <<<"$names"
"$ROOT/scripts/building/plugin.sh" "${plugins[@]}"
exec "$shardsweep" sweep --preset "$preset" "$@"
