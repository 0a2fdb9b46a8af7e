#!/usr/bin/env bash
# `make test`: from a fresh clone to an answer. Stops at nothing, fails if anything failed.
# A part that cannot be had fails it too, unless ALLOW_SKIP=1, which says at the end what was skipped.
set -uo pipefail
cd "$(dirname "$0")/.."
started=$SECONDS
failed=()
skipped=()

step() { # NAME COMMAND…
    local name=$1
    shift
    echo
    echo "━━ $name"
    "$@" || failed+=("$name")
}

scripts/setup.sh test || exit 1

chromium=""
if ! chromium=$(scripts/chromium.sh); then
    if [ "${ALLOW_SKIP:-}" = 1 ]; then skipped+=("browser tests: no Chromium"); else failed+=("Chromium"); fi
fi
export CHROMIUM=$chromium

if postgres=$(scripts/postgres.sh); then
    export POSTGRES_BIN=$postgres
elif [ "${ALLOW_SKIP:-}" = 1 ]; then
    skipped+=("storage on PostgreSQL: none here")
else
    failed+=("PostgreSQL")
fi

marks=""
[ -n "$chromium" ] || marks="not browser"
[ "${ALLOW_SKIP:-}" = 1 ] || export FAIL_ON_SKIP=1

step "lint and types" scripts/check.sh
step "the page (node)" scripts/node-tests.sh
# one file to one worker: a file's tests share servers and browsers
step "everything else (pytest)" .venv/bin/pytest -n 2 --dist loadfile -m "$marks" "$@"

echo
echo "━━ $((SECONDS - started)) s in all"
for part in "${skipped[@]+"${skipped[@]}"}"; do echo "skipped: $part"; done
if [ ${#failed[@]} -gt 0 ]; then
    printf 'failed: %s\n' "${failed[@]}" >&2
    exit 1
fi
