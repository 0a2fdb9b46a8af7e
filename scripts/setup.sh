#!/usr/bin/env bash
# Brings the folder to what `run`, `test` or `mutants` needs. Does nothing, in milliseconds, when it is there.
# Stamps hold a checksum of the lock they were made from; a changed lock installs again.
set -euo pipefail
cd "$(dirname "$0")/.."
level=${1:-run}
venv=.venv

say() { echo "parley: $*"; }

checksum() { cksum "$@" | cut -d ' ' -f 1,2 | tr '\n' ' '; }

is_current() { # STAMP FILE…
    local stamp=$1
    shift
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(checksum "$@")" ]
}

make_venv() {
    if [ -x $venv/bin/python ] && $venv/bin/python -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null; then
        return
    fi
    local python
    python=$(scripts/find-python.sh)
    say "creating $venv with $("$python" --version)"
    rm -rf $venv
    if ! "$python" -m venv $venv; then
        rm -rf $venv
        say "$python cannot create a virtual environment; on Debian and Ubuntu: apt install python3-venv" >&2
        exit 1
    fi
}

install() { # LOCK SIZE
    is_current "$venv/.installed-$1" "$1" && return
    say "installing $1 ($(grep -c '^[a-zA-Z]' "$1") packages, about $2, once)"
    if ! $venv/bin/python -m pip install --quiet --quiet --disable-pip-version-check --no-input \
        --no-deps --require-hashes -r "$1"; then
        say "installing $1 failed (see above); run the same command again when the cause is gone" >&2
        exit 1
    fi
    checksum "$1" >"$venv/.installed-$1"
}

install_node_packages() {
    is_current node_modules/.installed package-lock.json && return
    say "installing TypeScript, prettier and the page's packages by package-lock.json"
    scripts/npm.sh ci --silent --no-audit --no-fund --ignore-scripts
    checksum package-lock.json >node_modules/.installed
}

vendor() { # what the page loads from npm packages; without them the page does without
    is_current frontend/vendor/.installed package-lock.json scripts/vendor.py && return
    say "copying what the page loads from npm packages (4 MB, once)"
    local reason
    if ! reason=$($venv/bin/python scripts/vendor.py 2>&1); then
        say "not all could be had: ${reason##*$'\n'}"
        say "the page does without formulas, PDFs, colours in code or comfort in its editors; the next start tries again"
        return
    fi
    checksum package-lock.json scripts/vendor.py >frontend/vendor/.installed
}

make_venv
install requirements.txt "790 MB"
if [ "$level" != run ]; then
    install requirements-dev.txt "150 MB"
    if [ -f package-lock.json ]; then install_node_packages; fi
fi
if [ -f package-lock.json ]; then vendor; fi
if [ "$level" = mutants ]; then
    install requirements-mutants.txt "20 MB"
fi
