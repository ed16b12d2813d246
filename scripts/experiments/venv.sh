#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Makes build/venv: the Python environment of the experiments, at exactly the versions of requirements.lock.
# Does nothing when the environment is already that. PYTHON=... chooses the interpreter (3.11 or later)
# when it is made.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
venv=$root/build/venv
stamp=$venv/.complete
log=$root/build/venv.log

die() {
    printf 'venv: %s\n' "$*" >&2
    exit 1
}

find_python() {
    local candidate
    for candidate in "${PYTHON:-python3}" python3.11 /usr/bin/python3; do
        if command -v "$candidate" >/dev/null && "$candidate" -c \
            'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    die 'no Python 3.11 with venv; run: apt-get install python3 python3-venv'
}

# The path is part of what is wanted: a virtual environment does not survive a move of the checkout.
wanted=$(
    printf '%s\n' "$venv"
    cd "$root/scripts/experiments" && sha256sum requirements.lock pyproject.toml
)

mkdir -p "$root/build"
exec 9>"$root/build/.venv.lock"
flock 9
if [[ -f $stamp && $(<"$stamp") == "$wanted" ]] && "$venv/bin/python" -c '' 2>/dev/null; then
    exit 0
fi

echo "venv: installing the pinned Python packages into build/venv"
python=$(find_python)
rm -rf "$venv"
if ! {
    "$python" -m venv "$venv" &&
        "$venv/bin/pip" install --disable-pip-version-check --require-hashes -r "$root/scripts/experiments/requirements.lock" &&
        "$venv/bin/pip" install --disable-pip-version-check --no-deps --no-build-isolation -e "$root/scripts/experiments"
} >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    die "installation failed; the whole log is $log"
fi
# Written last: an interrupted installation has no stamp and is done again.
printf '%s\n' "$wanted" >"$stamp"
