#!/usr/bin/env bash
# Compiles the client in Java, and runs the ring `java-client`. `--check` only says whether that can be had here.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

for tool in javac mvn; do
  command -v "$tool" >/dev/null || { printf 'there is no %s\n' "$tool" && exit 1; }
done
[ "${1-}" != --check ] || exit 0
mvn --quiet --batch-mode --file test/clients/java/pom.xml process-classes
exec vitest run --project java-client "$@"
