// Scans the source code, because a connection that bypasses the outbound guard works until it is abused.

import { expect, test } from "vitest";
import { typescriptFiles } from "../../support/project-files.ts";

/** Imports and calls that can open a connection, or send a datagram, to an untrusted address. */
const OPENS =
  /^import (?!type )[^;]*from "(undici|ws|node:(dgram|tls|https|http2|dns|dns\/promises))"|^import [^;]*\bconnect\b[^;]*from "node:net"|\bfetch\(/m;

/** Files that use the guard, and files whose connections never go to an untrusted address. */
const KNOWN = [
  "src/cli/doctor/cluster-check.ts", // the operator's own command, to the servers that are configured
  "src/cluster/life-dial.ts", // addresses in the sealed records of other machines of the cluster
  "src/cluster/quorum-evidence.ts", // NATS servers that are configured, and those that they name
  "src/cli/doctor/network-checks.ts", // the operator's own command, to one fixed host
  "src/control/dashboard/live-socket.ts", // a server
  "src/control/server/served-certificate.ts", // both ends belong to the node
  "src/control/server/tls-listener.ts", // a server
  "src/control/server/tls-material.ts", // the certificate of a server
  "src/control/server/web-socket-endpoint.ts", // a server
  "src/control/route-planner/bind-check.ts", // binds only
  "src/network/guarded-dispatcher.ts",
  "src/network/host-resolver.ts",
  "src/network/outbound-guard.ts",
  "src/network/resend-stale.ts", // takes an error class alone
  "src/media/input/http-client.ts",
  "src/media/input/shoutcast-client.ts",
  "src/media/voice/gateway/gateway-connector.ts", // gateway-socket.ts asks for it
  "src/media/voice/gateway/gateway-socket.ts",
  "src/network/sockets.ts", // its users ask
];

test("every file that can open a connection is known to use the outbound guard (docs/reference/outbound-guard.md)", () => {
  const opening = typescriptFiles("src/")
    .filter(({ text }) => OPENS.test(text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/(^|[^:"'`])\/\/.*$/gm, "$1")))
    .map(({ path }) => path);
  expect(opening.toSorted()).toEqual(KNOWN.toSorted());
});
