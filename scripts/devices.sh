#!/usr/bin/env bash
# Prints the folder of the module sounddevice, for tests with devices; installs what they need once: PortAudio and PulseAudio by apt (as root).
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$PWD/.cache/sounddevice
mkdir -p .cache

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && ! dpkg -s libportaudio2 libasound2-plugins pulseaudio >/dev/null 2>&1; then
    echo "parley: installing PortAudio and PulseAudio with apt (once)" >&2
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
        libportaudio2 libasound2-plugins pulseaudio pulseaudio-utils; } >/dev/null 2>.cache/apt.log || tail -n 3 .cache/apt.log >&2
fi
if [ ! -d "$folder" ]; then
    # beside the environment, not in it: cffi, all that it needs, is there
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --target "$folder" sounddevice >&2
fi
if ! PYTHONPATH=$folder .venv/bin/python -c "import sounddevice" >&2; then
    echo "parley: sounddevice does not load: install PortAudio (libportaudio2)" >&2
    exit 1
fi
echo "$folder"
