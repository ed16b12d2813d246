#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# `make sweep`: from a fresh clone to a report. Builds what the preset (PRESET=quick by default) needs and is not built yet, then
# measures it. SUITE takes the benchmarks from another suite. Further arguments go to `shardsweep sweep`.
set -euo pipefail
# Paths in the arguments are relative to where this was called: no change of directory here.
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

preset=${PRESET:-quick}
shardsweep=$OUT/venv/bin/shardsweep
arguments=(--preset "$preset" ${SUITE:+--suite "$SUITE"})

# Bad input is told before anything is built.
[[ -f $ROOT/configs/presets/$preset.yml ]] || die "no preset $preset: configs/presets has $(cd "$ROOT/configs/presets" && echo *.yml)"
suites=$(sed -n 's/^  \([a-z]*\):$/\1/p' "$ROOT/configs/suites.yml" | paste -sd '|')
[[ -z ${SUITE:-} || $SUITE =~ ^($suites)$ ]] || die "no suite ${SUITE//$'\n'/ }: there are ${suites//|/, }"

# procps has what running-ng calls.
need_packages python3 python3-venv procps
"$ROOT/scripts/experiments/venv.sh"
"$shardsweep" sweep "${arguments[@]}" --check "$@"
names=$("$shardsweep" plugins --preset "$preset")
"$ROOT/scripts/building/jdk.sh"
"$ROOT/scripts/building/lusearch.sh"
mapfile -t plugins <<<"$names"
"$ROOT/scripts/building/plugin.sh" "${plugins[@]}"
exec "$shardsweep" sweep "${arguments[@]}" "$@"
