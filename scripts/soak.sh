#!/usr/bin/env bash
# The randomised tests at their full counts: hours rather than minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
CHROMIUM=$(scripts/chromium.sh)
export CHROMIUM SOAK=1
exec .venv/bin/pytest -m "soak or hypothesis" --timeout=7200 "$@"
