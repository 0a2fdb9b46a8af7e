#!/usr/bin/env bash
# Prints a Python that the locks are made for (3.11 to 3.14), or says what to do. PYTHON=… chooses one.
set -euo pipefail

is_fit() {
    "$1" -c 'import sys; raise SystemExit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1
}

if [ -n "${PYTHON:-}" ]; then
    is_fit "$PYTHON" && { echo "$PYTHON"; exit 0; }
    echo "PYTHON=$PYTHON is not a Python 3.11 to 3.14" >&2
    exit 1
fi
for candidate in python3 python3.13 python3.14 python3.12 python3.11 python; do
    is_fit "$candidate" && { echo "$candidate"; exit 0; }
done
found=$(python3 --version 2>/dev/null || echo "no python3")
cat >&2 <<TEXT
Parley needs Python 3.11, 3.12, 3.13 or 3.14; this machine has $found.
Install one (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python@3.13)
or name one: PYTHON=/path/to/python3.12 make run
TEXT
exit 1
