#!/usr/bin/env bash
# Writes the JSON Schemas and the reference of frames that are published, from the code that they describe.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/python -m scripts.frame_schemas docs/schemas
.venv/bin/python -m scripts.protocol_reference docs
.venv/bin/python -m skills_engine schema >.schema.tmp
mv .schema.tmp skills_engine/hooks.schema.json
.venv/bin/python -m skills_engine schema tests >.schema.tmp
mv .schema.tmp skills_engine/tests.schema.json
git diff --stat -- docs/schemas docs/protocol-reference.md skills_engine/*.schema.json 2>/dev/null || true
