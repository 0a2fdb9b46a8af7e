#!/usr/bin/env bash
# Prints what to test with: `find-service.sh nginx` the program, `find-service.sh postgresql` the folder of its programs.
# NGINX or POSTGRES_BIN, PATH's, Debian's, apt's (as root).
set -euo pipefail
cd "$(dirname "$0")/.."
package=$1

case $package in
    nginx)
        variable=NGINX wanted="does not start"
        works() { "$1" -v >/dev/null 2>&1; }
        places() {
            command -v nginx || true
            echo /usr/sbin/nginx /usr/local/sbin/nginx /opt/homebrew/bin/nginx
        }
        ;;
    postgresql)
        variable=POSTGRES_BIN wanted="holds no initdb and postgres"
        works() { [ -x "$1/initdb" ] && [ -x "$1/postgres" ]; }
        places() {
            local initdb
            initdb=$(command -v initdb) && dirname "$(realpath "$initdb")"
            ls -d /usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql*/bin 2>/dev/null | sort -rV || true
        }
        ;;
esac

of_system() {
    local place
    for place in $(places); do
        if works "$place"; then
            echo "$place"
            return 0
        fi
    done
    return 1
}

if [ -n "${!variable:-}" ]; then
    works "${!variable}" && { echo "${!variable}"; exit 0; }
    echo "$variable=${!variable} $wanted" >&2
    exit 1
fi
of_system && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "parley: installing $package with apt (once)" >&2
    mkdir -p .cache
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$package"; } \
        >/dev/null 2>".cache/apt-$package.log" || tail -n 3 ".cache/apt-$package.log" >&2
    of_system && exit 0
fi
echo "parley: no $package: install it (Debian: apt install $package), or set $variable to where it is" >&2
exit 1
