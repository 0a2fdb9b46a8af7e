#!/usr/bin/env bash
# Starts the server for the local network, over TLS: browsers give no microphone on plain http.
# The certificate is made here, for this machine's address, and signed by nobody: a phone
# warns once. Everybody in this network may talk to the server then.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 077
mkdir -p .certs

address=$(.venv/bin/python - <<'PYTHON'
import socket

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
    try:
        probe.connect(("192.0.2.1", 9))  # sends nothing; tells which of our addresses faces the network
        print(probe.getsockname()[0])
    except OSError:
        print("127.0.0.1")
PYTHON
)
name=$(hostname | cut -d . -f 1)

if [ ! -f .certs/cert.pem ] || [ "$(cat .certs/for 2>/dev/null)" != "$address $name" ]; then
    if ! command -v openssl >/dev/null; then
        echo "make run-lan needs the openssl command to make a certificate; or put cert.pem and key.pem of your own into .certs/" >&2
        exit 1
    fi
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 \
        -subj "/CN=Parley on $name" \
        -addext "subjectAltName=IP:$address,IP:127.0.0.1,DNS:$name,DNS:$name.local,DNS:localhost" \
        -keyout .certs/key.pem -out .certs/cert.pem 2>/dev/null
    echo "$address $name" >.certs/for
fi

export PARLEY_LISTEN__TLS="{cert: '$PWD/.certs/cert.pem', key: '$PWD/.certs/key.pem'}"
export PARLEY_SECURITY__AUTH=none
export PARLEY_SECURITY__HOSTS="['$address', '$name', '$name.local']"
exec .venv/bin/python -m server --host 0.0.0.0 "$@" > >(.venv/bin/python -m scripts.lan_address "$address")
