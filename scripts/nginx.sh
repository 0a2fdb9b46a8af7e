#!/usr/bin/env bash
# Prints the nginx to test with: NGINX, PATH's, Debian's, apt's (as root).
set -euo pipefail
cd "$(dirname "$0")/.."

works() { [ -n "$1" ] && "$1" -v >/dev/null 2>&1; }

of_system() {
    local program
    for program in "$(command -v nginx || true)" /usr/sbin/nginx /usr/local/sbin/nginx /opt/homebrew/bin/nginx; do
        if works "$program"; then
            echo "$program"
            return 0
        fi
    done
    return 1
}

if [ -n "${NGINX:-}" ]; then
    works "$NGINX" && { echo "$NGINX"; exit 0; }
    echo "NGINX=$NGINX does not start" >&2
    exit 1
fi
of_system && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "parley: installing nginx with apt (once)" >&2
    mkdir -p .cache
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends nginx; } \
        >/dev/null 2>.cache/apt-nginx.log || tail -n 3 .cache/apt-nginx.log >&2
    of_system && exit 0
fi
echo "parley: no nginx: install it (Debian: apt install nginx), or name it with NGINX=/path/to/nginx" >&2
exit 1
