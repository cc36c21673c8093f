#!/bin/sh
# Builds the load generator and runs it: run.sh [OPTION]... PORT
set -eu
cd "$(dirname "$0")/../.."
make -s demo-programs
exec "${B:-build}/demo/load" "$@"
