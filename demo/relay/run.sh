#!/bin/sh
# Builds what is needed, and runs this server under load, unhooked and hooked
# in turn, as the demonstration does.
set -eu
cd "$(dirname "$0")/../.."
make -s all demo-programs
exec bash demo/demo.sh relay
