#!/usr/bin/env bash
# The randomised and long tests at their full counts, an hour and a half; with `--minutes 60` first, at the share of them that takes about so long.
set -euo pipefail
cd "$(dirname "$0")/.."
whole_minutes=90 # on two cores
share=1
if [ "${1:-}" = --minutes ]; then
    share=$(awk -v minutes="$2" -v whole=$whole_minutes 'BEGIN { share = minutes / whole; print (share < 1 ? share : 1) }')
    shift 2
fi
CHROMIUM=$(scripts/chromium.sh)
export CHROMIUM SOAK=$share
exec .venv/bin/pytest -m "soak or hypothesis" --timeout=7200 "$@"
