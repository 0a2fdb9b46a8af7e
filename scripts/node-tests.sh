#!/usr/bin/env bash
# The page's unit tests, in Node's own runner: its closing lines when they pass, everything when not.
set -euo pipefail
cd "$(dirname "$0")/.."
tests=$(find tests/frontend -name '*.test.js' | sort)
[ -n "$tests" ] || { echo "no tests in tests/frontend" >&2; exit 1; }
mkdir -p .cache
log=.cache/node-tests.log
# shellcheck disable=SC2086  # one word per file; none of our names holds a space
if scripts/node.sh --test --test-concurrency=4 --test-reporter=spec $tests >$log 2>&1; then
    tail -n 8 $log
else
    cat $log
    exit 1
fi
