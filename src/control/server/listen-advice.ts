// Advice for an address that the server cannot listen on. For the start, and for the doctor, which tries before. Main
// thread.

const ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program (perhaps a running node) has it; stop that or set server.port",
  EACCES: "ports below 1024 need privileges; set server.port to a higher one",
  EADDRNOTAVAIL: "this machine does not have that address; set server.address",
  ENOTFOUND: "that name does not resolve; set server.address",
};

/** By the code that `listen` fails with. */
export function listenAdvice(code: string): string {
  return ADVICE[code] ?? "set server.address and server.port to an address and port of this machine";
}
