// A program that is started as a node and is not one, or not for long: its argument selects the fault.

import { createServer } from "node:http";

const [, , wrong] = process.argv;
if (wrong === "ends at once") {
  console.error("no memory on this planet");
  process.exit(3);
}
const server = createServer((request, response) => {
  if (wrong === "never answers") return;
  if (request.url === "/version") response.end("4.0.0");
  else if (wrong === "wrong password") response.writeHead(403).end("{}");
  else if (wrong === "talks nonsense") response.end("<html>");
  else response.setHeader("content-type", "application/json").end('{"version":{"semver":"4.0.0"}}');
});
// A client that connects as a bot sees the last of it.
server.on("upgrade", (_request, socket) => {
  if (wrong === "dies in the run") process.exit(7);
  socket.destroy();
});
server.listen(Number(process.env.SERVER_PORT), "127.0.0.1");
