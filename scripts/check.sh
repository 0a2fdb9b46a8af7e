#!/usr/bin/env bash
# Lint and types of everything; with `fast`, the fast tests too. Says each step and how long it took.
set -uo pipefail
cd "$(dirname "$0")/.."
unset PYTHONDONTWRITEBYTECODE # pytest compiles each test file anew without it: half of its start
failed=()

step() { # NAME COMMAND…
    local name=$1 started=$SECONDS
    shift
    echo "── $name"
    "$@" || failed+=("$name")
    echo "   $((SECONDS - started)) s"
}

check_page() { # fails if one of its steps did
    if [ -d node_modules/typescript ]; then
        step "tsc" scripts/node.sh node_modules/typescript/bin/tsc --noEmit -p tsconfig.json
        step "prettier" scripts/prettier.sh --check
    fi
    [ "${1:-}" != fast ] || step "node tests" scripts/node-tests.sh
    [ ${#failed[@]} -eq 0 ]
}

finish() { # PID LOG: what was begun beside the rest
    wait "$1"
    local status=$?
    cat "$2"
    return $status
}

mkdir -p .cache
check_page "$@" >.cache/check-page.log 2>&1 & # on another core, while mypy has one
page=$!
trap 'kill $page 2>/dev/null' EXIT
step "ruff check" .venv/bin/ruff check --quiet .
step "ruff format" .venv/bin/ruff format --quiet --check .
step "mypy" .venv/bin/mypy --no-error-summary
step "the page" finish $page .cache/check-page.log
trap - EXIT
if [ "${1:-}" = fast ]; then
    step "fast tests" .venv/bin/pytest -q -n 2 --dist loadfile -m "not slow and not soak and not browser"
fi

if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}" >&2
    exit 1
fi
