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

finish() { # PID LOG: what was begun beside the rest
    wait "$1"
    local status=$?
    cat "$2"
    return $status
}

scripts/setup.sh test || exit 1

chromium=""
if ! chromium=$(scripts/chromium.sh); then
    if [ "${ALLOW_SKIP:-}" = 1 ]; then skipped+=("browser tests: no Chromium"); else failed+=("Chromium"); fi
fi
export CHROMIUM=$chromium
unset PYTHONDONTWRITEBYTECODE # rewriting the assertions of all tests takes each worker eight seconds: once is enough

if postgres=$(scripts/find-service.sh postgresql); then
    export POSTGRES_BIN=$postgres
elif [ "${ALLOW_SKIP:-}" = 1 ]; then
    skipped+=("storage on PostgreSQL: none here")
else
    failed+=("PostgreSQL")
fi

if nginx=$(scripts/find-service.sh nginx); then
    export NGINX=$nginx
elif [ "${ALLOW_SKIP:-}" = 1 ]; then
    skipped+=("replicas behind nginx: none here")
else
    failed+=("nginx")
fi

marks=""
[ -n "$chromium" ] || marks="not browser"
[ "${ALLOW_SKIP:-}" = 1 ] || export FAIL_ON_SKIP=1

# Beside the tests, which wait for servers and browsers half of the time; told when they have ended.
mkdir -p .cache
(
    ended=0
    scripts/check.sh || ended=1
    scripts/node-tests.sh || ended=1
    exit $ended
) >.cache/check.log 2>&1 &
beside=$!
trap 'kill $beside 2>/dev/null' EXIT

# Of a fresh clone one worker compiles what the others then read, which takes each of them as long: 6 processor seconds.
[ -d tests/__pycache__ ] || .venv/bin/pytest --collect-only -qq >/dev/null

# One file to one worker: a file's tests share servers and browsers. In the order of tests/conftest.py.
step "the server and the page in a browser (pytest)" \
    .venv/bin/pytest -n 4 --dist loadfile --no-loadscope-reorder -m "$marks" "$@"
step "lint and types, the page (node)" finish $beside .cache/check.log
trap - EXIT

echo
echo "━━ $((SECONDS - started)) s in all"
for part in "${skipped[@]+"${skipped[@]}"}"; do echo "skipped: $part"; done
if [ ${#failed[@]} -gt 0 ]; then
    printf 'failed: %s\n' "${failed[@]}" >&2
    exit 1
fi
