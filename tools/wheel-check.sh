#!/bin/sh
# What a stranger gets: the built wheel in an environment of its own, away from the checkout.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$PYTHON" -m build --quiet --wheel --outdir "$place/dist" .
"$PYTHON" -m venv "$place/env"
"$place/env/bin/python" -m pip --disable-pip-version-check --quiet install "$place"/dist/*.whl
cd "$place"
./env/bin/recollect demo
