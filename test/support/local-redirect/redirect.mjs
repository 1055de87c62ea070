// Redirects a program's connections to the fakes, without the program knowing: a real bot connects to discord.com.
// Given to Node.js with --import, it reads from the variable REDIRECTED_PORTS which host and port is which port of this
// machine (`{"discord.com:443": 40001}`), and lets nothing else leave the machine, nor be resolved. npm is permitted:
// the packages it installs are on a registry.
//
// It ends the program when its standard input ends: the parent process may have been killed.

import { Socket } from "node:net";
import { basename } from "node:path";
import { isMainThread } from "node:worker_threads";

const HERE = /^(127\.\d+\.\d+\.\d+|localhost|::1)$/;
const NPM = /^(npm|npx)(-cli\.js)?$/;

const ports = new Map(Object.entries(JSON.parse(process.env.REDIRECTED_PORTS ?? "{}")));
const { connect } = Socket.prototype;

/** The last function that all TCP and TLS connections of Node.js pass with the name of the host. */
function connectLocally(...args) {
  // `net.connect` hands on its arguments as a list in a list.
  const [options, listener] = Array.isArray(args[0]) ? args[0] : args;
  if (typeof options !== "object" || options.port === undefined) return connect.apply(this, args);
  const { host = "localhost" } = options;
  const port = ports.get(`${host}:${options.port}`);
  if (port !== undefined) return connect.call(this, { ...options, host: "127.0.0.1", port }, listener ?? undefined);
  if (HERE.test(host)) return connect.apply(this, args);
  // As the network would refuse: later.
  process.nextTick(() => this.destroy(new Error(`a test must not reach ${host}:${options.port}`)));
  return this;
}

if (!NPM.test(basename(process.argv[1] ?? ""))) {
  Socket.prototype.connect = connectLocally;
  if (isMainThread) {
    process.stdin.on("end", () => process.exit()).resume();
    // It does not keep the process alive.
    process.stdin.unref();
  }
}
