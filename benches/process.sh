#!/usr/bin/env bash
# Start, list, load and memory of the built server beside a bare process start, all from one run: see benches/process.rs.
set -euo pipefail
cd "$(dirname "$0")/.."
exec cargo bench --locked --bench process
