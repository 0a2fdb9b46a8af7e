#!/usr/bin/env bash
# Asks the advisories of PyPI about every package of the locks, or of those that are named, with pip-audit, which has an
# environment of its own (PIP_AUDIT=… takes another). Exit status 1: there are vulnerabilities; 2: not all is known.
set -uo pipefail
cd "$(dirname "$0")/.."
if [ -z "${PIP_AUDIT:-}" ]; then
    tools=.cache/audit-tools
    if ! cmp --silent requirements-audit.txt $tools/.installed; then
        rm -rf $tools
        "$(scripts/find-python.sh)" -m venv $tools && $tools/bin/python -m pip install --quiet \
            --disable-pip-version-check --no-deps --require-hashes -r requirements-audit.txt || exit 2
        cp requirements-audit.txt $tools/.installed
    fi
    PIP_AUDIT=$tools/bin/pip-audit
fi

[ $# -gt 0 ] || set -- requirements.txt requirements-dev.txt requirements-mutants.txt requirements-audit.txt
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
status=0
for lock in "$@"; do
    # strict: else a package that the service does not know would count as one without vulnerabilities
    if found=$("$PIP_AUDIT" --strict --require-hashes --disable-pip --progress-spinner off -r "$lock" 2>"$errors"); then
        echo "$lock: no known vulnerabilities"
    elif [ -n "$found" ]; then
        printf '%s: vulnerable; `make lock ARGS="--upgrade-package NAME"` takes a newer version\n%s\n' "$lock" "$found"
        status=1
    else
        echo "$lock: NOT AUDITED, because pypi.org did not answer about every package: $(tail -n 1 "$errors")" >&2
        [ $status = 1 ] || status=2
    fi
done
exit $status
