#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Makes build/venv: the Python environment of the experiments, at exactly the versions of requirements.lock.
# Does nothing when the environment is already that. PYTHON=... chooses the interpreter (3.11 or later)
# when it is made; where there is none, Debian's is installed.
# Usage: venv.sh [cluster]     cluster: with what the profiles slurm and kubernetes need, at the versions of cluster.lock
set -euo pipefail
# The path of PYTHON is relative to where this was called: no change of directory here.
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

home=$ROOT/scripts/experiments
venv=$OUT/venv
stamp=$venv/.complete
log=$OUT/venv.log

# find_python: prints the path of an interpreter that can make the environment, PYTHON alone if that is set; fails where there is none.
find_python() {
    local candidate candidates=(python3 python3.11 /usr/bin/python3)
    [[ ! ${PYTHON:-} ]] || candidates=("$PYTHON")
    for candidate in "${candidates[@]}"; do
        if command -v "$candidate" >/dev/null && "$candidate" -c \
            'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

# complete STAMP WANTED: whether the stamp has that text, and the environment works.
complete() { [[ -f $1 && $(<"$1") == "$2" ]] && "$venv/bin/python" -c '' 2>/dev/null; }

# install LOCK: installs the packages that a lock file pins.
install() { "$venv/bin/pip" install --disable-pip-version-check --require-hashes -r "$home/$1"; }

install_base() {
    "$python" -m venv "$venv" && install requirements.lock &&
        "$venv/bin/pip" install --disable-pip-version-check --no-deps --no-build-isolation -e "$home"
}

extra=${1:-}
[[ $extra =~ ^(cluster)?$ ]] || die "there is no extra $extra: venv.sh [cluster]"
# The path is part of what is wanted: a virtual environment does not survive a move of the checkout.
wanted=$(
    printf '%s\n' "$venv"
    cd "$home" && sha256sum requirements.lock pyproject.toml
)

mkdir -p "$OUT"
lock_file "$OUT/.venv.lock"
# A stamp is written last: an interrupted installation has none and is done again.
if ! complete "$stamp" "$wanted"; then
    say "installing the pinned Python packages into build/venv"
    python=$(find_python) || {
        [[ ! ${PYTHON:-} ]] || die "PYTHON=$PYTHON is no Python 3.11 or later with venv"
        need_packages python3 python3-venv
        python=$(find_python) || die "no Python 3.11 with venv: point PYTHON at one"
    }
    rm -rf "$venv"
    run_logged "$log" install_base
    printf '%s\n' "$wanted" >"$stamp"
fi
if [[ $extra ]]; then
    pinned=$(sha256sum <"$home/cluster.lock")
    if ! complete "$stamp-cluster" "$pinned"; then
        say "installing the pinned packages for clusters into build/venv"
        run_logged "$log" install cluster.lock
        printf '%s\n' "$pinned" >"$stamp-cluster"
    fi
fi
