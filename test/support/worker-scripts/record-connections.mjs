// Watches the last function in this thread before the system: every TCP connection and every datagram is reported with
// its real address, and only those to this machine get any further. All others fail as refused, so no test can send a
// packet elsewhere, whatever it tries. Plain JavaScript: workers load it without a compiler.

import { createSocket } from "node:dgram";
import { createServer } from "node:net";
import { constants } from "node:os";

const REFUSED = -constants.errno.ECONNREFUSED;
const THIS_MACHINE = /^(127\.|0\.0\.0\.0$|::1?$|::ffff:(127\.|7f))/;

/** Call it before any connection is made. Resolves with a function that restores normal connections. */
export async function recordConnections(onConnection) {
  const report = (protocol, address, port) => {
    const isHere = THIS_MACHINE.test(address);
    onConnection({ protocol, address, port, isHere });
    return isHere;
  };
  // Handles are hidden from programs; their prototypes are the only place where the resolved addresses are visible.
  const tcp = Object.getPrototypeOf(await handleOfServer());
  const udp = Object.getPrototypeOf(handleOfSocket());
  const restores = [
    ...replaceAll(tcp, ["connect", "connect6"], (_request, address, port) => report("tcp", address, port)),
    ...replaceAll(udp, ["connect", "connect6"], (address, port) => report("udp", address, port)),
    // A connected socket sends without an address.
    ...replaceAll(udp, ["send", "send6"], (_request, _list, _count, port, address) =>
      typeof address === "string" ? report("udp", address, port) : true,
    ),
  ];
  return () => {
    for (const restore of restores) restore();
  };
}

function replaceAll(prototype, names, mayGo) {
  return names.map((name) => {
    const original = prototype[name];
    prototype[name] = function (...values) {
      return mayGo(...values) ? original.apply(this, values) : REFUSED;
    };
    return () => {
      prototype[name] = original;
    };
  });
}

async function handleOfServer() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const handle = server._handle;
  server.close();
  return handle;
}

function handleOfSocket() {
  const socket = createSocket("udp4");
  const state = Object.getOwnPropertySymbols(socket).map((symbol) => socket[symbol]);
  const { handle } = state.find((value) => value?.handle !== undefined);
  socket.close();
  return handle;
}
