#!/usr/bin/env bash
# The page's formatter, over the page and its tests: `--check` or `--write`. What has not changed since the last run is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
exec scripts/node.sh node_modules/prettier/bin/prettier.cjs "$1" --log-level warn \
    --cache --cache-location .cache/prettier --cache-strategy content \
    "frontend/**/*.{js,ts,css,html}" "tests/frontend/**/*.{js,ts}"
