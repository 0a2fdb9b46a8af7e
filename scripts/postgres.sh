#!/usr/bin/env bash
# Prints the folder of PostgreSQL's programs to test with: POSTGRES_BIN, PATH's, Debian's, apt's (as root).
set -euo pipefail
cd "$(dirname "$0")/.."

works() { [ -n "$1" ] && [ -x "$1/initdb" ] && [ -x "$1/postgres" ]; }

of_system() {
    local folder initdb
    initdb=$(command -v initdb || true)
    for folder in "$([ -n "$initdb" ] && dirname "$(realpath "$initdb")")" \
        $(ls -d /usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql*/bin 2>/dev/null | sort -rV); do
        if works "$folder"; then
            echo "$folder"
            return 0
        fi
    done
    return 1
}

if [ -n "${POSTGRES_BIN:-}" ]; then
    works "$POSTGRES_BIN" && { echo "$POSTGRES_BIN"; exit 0; }
    echo "POSTGRES_BIN=$POSTGRES_BIN holds no initdb and postgres" >&2
    exit 1
fi
of_system && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "parley: installing PostgreSQL with apt (once)" >&2
    mkdir -p .cache
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends postgresql; } \
        >/dev/null 2>.cache/apt-postgres.log || tail -n 3 .cache/apt-postgres.log >&2
    of_system && exit 0
fi
echo "parley: no PostgreSQL: install one (Debian: apt install postgresql), or name its programs with POSTGRES_BIN=/path/to/bin" >&2
exit 1
