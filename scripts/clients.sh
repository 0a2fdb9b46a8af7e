#!/usr/bin/env bash
# `make clients`: installs the stock clients of OpenAI's Realtime API, once, in .cache/clients, and runs them all.
# Arguments name clients: `scripts/clients.sh pipecat livekit`.
set -euo pipefail
cd "$(dirname "$0")/.."
home=.cache/clients
locks=(tests/stock_clients/python/requirements.txt tests/stock_clients/node/package-lock.json)

mkdir -p $home/node
if [ "$(cat $home/.installed 2>/dev/null)" != "$(cksum "${locks[@]}")" ]; then
    echo "parley: installing the stock clients (about 900 MB, once)"
    [ -x $home/bin/python ] || "$(scripts/find-python.sh)" -m venv $home
    $home/bin/python -m pip install --quiet --quiet --disable-pip-version-check --no-input \
        --no-deps --require-hashes -r "${locks[0]}"
    cp tests/stock_clients/node/package*.json $home/node/
    scripts/npm.sh ci --silent --no-audit --no-fund --ignore-scripts --prefix $home/node
    cksum "${locks[@]}" >$home/.installed
fi
cp tests/stock_clients/node/*.mjs $home/node/ # where they find their packages

exec .venv/bin/python -m tests.stock_clients "$@"
