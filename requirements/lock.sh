#!/bin/sh
# Pins, with hashes, what pyproject.toml asks for. No file names a registry's host.
set -eu
cd "$(dirname "$0")/.."
pin() {
  out=requirements/$1.txt
  shift
  .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
    --no-header --no-annotate --no-emit-index-url --no-emit-find-links "$@" --output-file "$out"
}
echo uv | pin uv -
pin server pyproject.toml --extra server --extra cli --extra learn --extra oidc --extra otel --extra postgres --extra tokens
pin lambda pyproject.toml --extra aws --extra tokens
pin dev pyproject.toml --extra aws --extra cli --extra learn --extra meaning --extra oidc --extra otel --extra postgres --extra tokens --group dev
pin oldest pyproject.toml --resolution lowest-direct --extra aws --extra cli --extra learn --extra oidc --extra otel --extra postgres --extra tokens --group test
pin clients --group clients
pin sam --group sam
pin peers --group peers
pin release --group release
pin model --group model --no-deps
