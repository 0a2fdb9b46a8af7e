#!/usr/bin/env bash
# Prints the path of a WebKit to test with: WEBKIT, else WebKitGTK's MiniBrowser, which apt brings once (as root) with
# its driver, a screen (Xvfb) and sound (GStreamer, PulseAudio).
set -euo pipefail
cd "$(dirname "$0")/.."

needed=(webkit2gtk-driver xvfb gstreamer1.0-plugins-good gstreamer1.0-pulseaudio pulseaudio)

of_system() {
    local path
    command -v WebKitWebDriver >/dev/null && command -v Xvfb >/dev/null && command -v pulseaudio >/dev/null || return 1
    for path in /usr/lib/*/webkit2gtk-4.1/MiniBrowser /usr/libexec/webkit2gtk-4.1/MiniBrowser; do
        if [ -x "$path" ]; then
            echo "$path"
            return 0
        fi
    done
    return 1
}

if [ -n "${WEBKIT:-}" ]; then
    [ -x "$WEBKIT" ] && { echo "$WEBKIT"; exit 0; }
    echo "WEBKIT=$WEBKIT does not start" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! dpkg -s "${needed[@]}" >/dev/null 2>&1; then
    echo "parley: installing WebKitGTK with apt (once)" >&2
    mkdir -p .cache
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${needed[@]}"; } \
        >/dev/null 2>.cache/apt.log || tail -n 3 .cache/apt.log >&2
fi
of_system && exit 0
echo "parley: no WebKit: install ${needed[*]}, or name a MiniBrowser with WEBKIT=/path/to/MiniBrowser" >&2
exit 1
