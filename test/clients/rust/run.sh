#!/usr/bin/env bash
# Compiles the client in Rust, and runs the ring `rust-client`. `--check` only says whether that can be had here.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

command -v cargo >/dev/null || { printf 'there is no cargo\n' && exit 1; }
[ "${1-}" != --check ] || exit 0
cargo build --quiet --locked --manifest-path test/clients/rust/Cargo.toml
exec vitest run --project rust-client "$@"
