#!/bin/sh
# Make .venv, or bring it up to date: with uv where there is uv, else with Python's own venv and pip.
#
#   scripts/environment.sh run   headrace with its extras, for the demo
#   scripts/environment.sh dev   the same, and what tests and checks need
#
# The package is installed editable. PYTHON names the interpreter for a new .venv (default: python3).
set -eu

cd "$(dirname "$0")/.."
kind=${1:?run or dev}
python=${PYTHON:-python3}

say() { echo "environment: $*" >&2; }
die() { say "$*"; exit 1; }

have() { command -v "$1" >/dev/null 2>&1; }

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

case $kind in
    run) group= ;;
    dev) group='--group dev' ;;
    *) die "run or dev, not '$kind'" ;;
esac

# A broken one (its Python was removed or is too old) is made anew; a whole one is kept.
if [ -e .venv ] && ! is_new_enough .venv/bin/python; then
    say "the Python of .venv is gone or too old: making it anew"
    rm -rf .venv
fi

if have uv; then
    # uv fetches a Python itself where the machine has none that is new enough.
    is_new_enough "$python" || python='>=3.11'
    [ -e .venv ] || uv venv --quiet --python "$python" .venv
    say "installing with uv"
    # shellcheck disable=SC2086  # $group is two words or none
    exec uv pip install --quiet --python .venv/bin/python --editable '.[all]' $group
fi

if [ ! -e .venv ]; then
    have "$python" || die "no $python here: install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3"
    is_new_enough "$python" || die "$("$python" --version 2>&1) is too old: name a Python 3.11 or newer: make PYTHON=/path/to/python3"
    if ! "$python" -m venv .venv; then
        rm -rf .venv
        die "$python cannot make an environment; on Debian and Ubuntu install python3-venv, or install uv"
    fi
fi
say "installing with pip (the first time takes a minute)"
.venv/bin/python -m pip --version >/dev/null 2>&1 || .venv/bin/python -m ensurepip --upgrade >/dev/null
# Dependency groups came with pip 25.1; what a Python brings along is often older.
.venv/bin/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
# shellcheck disable=SC2086
exec .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[all]' $group
