#!/usr/bin/env bash
# Prints the path of a Chromium to test with: CHROMIUM, the system's, apt's (as root), else Playwright's.
set -euo pipefail
cd "$(dirname "$0")/.."

works() { [ -n "$1" ] && "$1" --version >/dev/null 2>&1; }

of_system() {
    local name path
    for name in chromium chromium-browser google-chrome-stable google-chrome \
        "/Applications/Chromium.app/Contents/MacOS/Chromium" \
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
        path=$(command -v "$name" || true)
        if works "$path"; then
            echo "$path"
            return 0
        fi
    done
    return 1
}

of_playwright() {
    local path
    path=$(.venv/bin/python -c 'from playwright.sync_api import sync_playwright
with sync_playwright() as p: print(p.chromium.executable_path)')
    works "$path" && echo "$path"
}

if [ -n "${CHROMIUM:-}" ]; then
    works "$CHROMIUM" && { echo "$CHROMIUM"; exit 0; }
    echo "CHROMIUM=$CHROMIUM does not start" >&2
    exit 1
fi
of_system && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "parley: installing Chromium with apt (once)" >&2
    mkdir -p .cache
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium; } \
        >/dev/null 2>.cache/apt.log || tail -n 3 .cache/apt.log >&2
    of_system && exit 0
fi
of_playwright 2>/dev/null && exit 0
echo "parley: installing Playwright's Chromium (once)" >&2
.venv/bin/python -m playwright install chromium >/dev/null || true
of_playwright && exit 0
echo "parley: no Chromium: install one, or name one with CHROMIUM=/path/to/chromium" >&2
exit 1
