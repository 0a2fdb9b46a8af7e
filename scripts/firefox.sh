#!/usr/bin/env bash
# Prints the path of a Firefox to test with: FIREFOX, the system's, else apt's (as root).
# apt brings PulseAudio along: without any loudspeaker Firefox runs no sound at all.
set -euo pipefail
cd "$(dirname "$0")/.."

works() { [ -n "$1" ] && "$1" --version >/dev/null 2>&1; }

of_system() {
    local name path
    for name in firefox-esr firefox "/Applications/Firefox.app/Contents/MacOS/firefox"; do
        path=$(command -v "$name" || true)
        if works "$path"; then
            echo "$path"
            return 0
        fi
    done
    return 1
}

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

install() { # PACKAGE…
    echo "parley: installing $* with apt (once)" >&2
    mkdir -p .cache
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@"; } \
        >/dev/null 2>.cache/apt.log || tail -n 3 .cache/apt.log >&2
}

if [ -n "${FIREFOX:-}" ]; then
    works "$FIREFOX" && { echo "$FIREFOX"; exit 0; }
    echo "FIREFOX=$FIREFOX does not start" >&2
    exit 1
fi
if can_install && ! command -v pulseaudio >/dev/null; then install pulseaudio; fi
of_system && exit 0
if can_install; then
    install firefox-esr
    of_system && exit 0
fi
echo "parley: no Firefox: install one, or name one with FIREFOX=/path/to/firefox" >&2
exit 1
