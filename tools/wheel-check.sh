#!/bin/sh
# What a stranger gets: the built wheels in an environment of their own, away from the checkout.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$PYTHON" -m build --quiet --wheel --outdir "$place/dist" .
"$PYTHON" -m build --quiet --wheel --outdir "$place/dist" lab
"$PYTHON" -m venv "$place/env"
install() { "$place/env/bin/python" -m pip --disable-pip-version-check --quiet install "$@"; }

bytes=$(wc -c < "$(ls "$place"/dist/recollect-[0-9]*.whl)")
echo "the wheel of recollect has $bytes bytes"
[ "$bytes" -lt 1000000 ] || { echo "that is over 1 MB"; exit 1; }

size() { find "$place/env" -type f -print0 | xargs -0 wc -c | awk '$2 != "total" { sum += $1 } END { print sum }'; }
empty=$(size)
install "$place"/dist/recollect-[0-9]*.whl
bytes=$(($(size) - empty))
echo "the environment has $((bytes / 1000000)) MB without what it came with (pip and the like, $((empty / 1000000)) MB)"
[ "$bytes" -lt 210000000 ] || { echo "that is over 210 MB: see what brings it"; exit 1; }
cd "$place"
./env/bin/recollect demo
status=0
./env/bin/recollect demo --recipe default || status=$?
[ "$status" = 2 ] || { echo "without the laboratory, the exit status was $status in place of 2"; exit 1; }

install --find-links "$place/dist" "$place"/dist/recollect_lab-*.whl
./env/bin/recollect demo --recipe default
./env/bin/recollect recordings check default
