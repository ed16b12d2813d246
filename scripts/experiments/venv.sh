#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Makes build/venv: the Python environment of the experiments, at exactly the versions of requirements.lock.
# Does nothing when the environment is already that. PYTHON=... chooses the interpreter (3.11 or later)
# when it is made; where there is none, Debian's is installed.
set -euo pipefail
# The path of PYTHON is relative to where this was called: no change of directory here.
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

home=$ROOT/scripts/experiments
venv=$OUT/venv
stamp=$venv/.complete
log=$OUT/venv.log

# find_python: prints the path of an interpreter that can make the environment; fails where there is none.
find_python() {
    local candidate
    for candidate in "${PYTHON:-python3}" python3.11 /usr/bin/python3; do
        if command -v "$candidate" >/dev/null && "$candidate" -c \
            'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# The path is part of what is wanted: a virtual environment does not survive a move of the checkout.
wanted=$(
    printf '%s\n' "$venv"
    cd "$home" && sha256sum requirements.lock pyproject.toml
)

mkdir -p "$OUT"
exec 9>"$OUT/.venv.lock"
flock 9
if [[ -f $stamp && $(<"$stamp") == "$wanted" ]] && "$venv/bin/python" -c '' 2>/dev/null; then
    exit 0
fi

say "installing the pinned Python packages into build/venv"
python=$(find_python) || {
    need_packages python3 python3-venv
    python=$(find_python) || die "no Python 3.11 with venv: point PYTHON at one"
}
rm -rf "$venv"
if ! {
    "$python" -m venv "$venv" &&
        "$venv/bin/pip" install --disable-pip-version-check --require-hashes -r "$home/requirements.lock" &&
        "$venv/bin/pip" install --disable-pip-version-check --no-deps --no-build-isolation -e "$home"
} >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    die "installation failed; the whole log is $log"
fi
# Written last: an interrupted installation has no stamp and is done again.
printf '%s\n' "$wanted" >"$stamp"
