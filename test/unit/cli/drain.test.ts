import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { drainCommand } from "../../../src/cli/drain.ts";

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.closeAllConnections();
});

/** Runs the command against a program that answers so. */
async function drain(
  answer: { readonly status?: number; readonly body: string },
  args: readonly string[] = [],
  password = "a password of ours",
) {
  const asked: Pick<IncomingMessage, "method" | "url" | "headers">[] = [];
  const server = createServer(({ method, url, headers }, response) => {
    asked.push({ method, url, headers });
    response.writeHead(answer.status ?? 200).end(answer.body);
  });
  servers.push(server.unref());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // TCP
  let output = "";
  let errors = "";
  const settings = [`--server.port=${port}`, "--server.address=127.0.0.1", `--lavalink.server.password=${password}`];
  const status = await drainCommand([...settings, ...args], {
    cwd: "/nowhere",
    write: (text) => {
      output += text;
    },
    writeError: (text) => {
      errors += text;
    },
  });
  return { status, output, errors, asked };
}

test("a node that has no player left is drained", async () => {
  const { status, output, asked } = await drain({ body: '{"moved":3,"left":0}' });
  expect([status, output]).toEqual([0, "drained: 3 players have gone on at other machines, 0 are left\n"]);
  expect(asked).toMatchObject([
    { method: "POST", url: "/v4/tonearm/drain?deadline=60", headers: { authorization: "a password of ours" } },
  ]);
});

test("players that are left make it fail", async () => {
  const { status, output } = await drain({ body: '{"moved":3,"left":2}' });
  expect([status, output]).toEqual([
    1,
    "not drained: 3 players have gone on at other machines, 2 are left: they end with the node\n",
  ]);
});

test.each([[["--deadline", "5"]], [["--deadline=5"]]])("%j is passed on", async (args) => {
  expect((await drain({ body: '{"moved":0,"left":0}' }, args)).asked[0]?.url).toBe("/v4/tonearm/drain?deadline=5");
});

test.each([[["--deadline", "soon"]], [["--deadline"]]])("%j is refused, and nothing is asked", async (args) => {
  const { status, errors, asked } = await drain({ body: "" }, args);
  expect([status, errors, asked]).toEqual([1, "not drained: --deadline takes a number of seconds\n", []]);
});

test.each([
  [{ status: 403, body: "" }, "answers 403"],
  [{ body: "hello" }, "is not a node"],
  [{ body: '{"moved":1}' }, "is not a node"],
  [{ body: "1".repeat(5000) }, "is not a node"],
])("of the answer %j it is said that it %s", async (answer, words) => {
  const { status, errors } = await drain(answer);
  expect(status).toBe(1);
  expect(errors).toMatch(new RegExp(`^not drained: http://127.0.0.1:\\d+ ${words}\n$`));
});

test("a node that does not run is not drained", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo; // TCP
  await new Promise((resolve) => server.close(resolve));
  let errors = "";
  const status = await drainCommand(
    [`--server.port=${port}`, "--server.address=127.0.0.1", "--lavalink.server.password=x"],
    {
      cwd: "/nowhere",
      write: () => undefined,
      writeError: (text) => {
        errors += text;
      },
    },
  );
  expect(status).toBe(1);
  expect(errors).toContain("does not answer (ECONNREFUSED)");
});
