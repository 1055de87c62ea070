import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiServer } from "../../../support/api-server.ts";

let server: ApiServer;

beforeAll(async () => {
  server = await ApiServer.start();
});

afterAll(() => server.close());

describe("the smallest whole path", () => {
  test("a client connects, creates a player, lists it and destroys it", async () => {
    const client = await server.connect();
    expect(client.handshake).toMatchObject({ "session-resumed": "false", "lavalink-api-version": "4" });
    const path = `/v4/sessions/${client.sessionId}/players`;
    const created = await server.request("PATCH", `${path}/7`, { body: { volume: 50 } });
    expect(created.status).toBe(200);
    expect(created.json).toMatchObject({ guildId: "7", volume: 50, track: null });
    expect((await server.request("GET", path)).json).toHaveLength(1);
    expect((await server.request("DELETE", `${path}/7`)).status).toBe(204);
    expect((await server.request("GET", `${path}/7`)).status).toBe(404);
    expect(client.messages.slice(0, 2).map((message) => message.op)).toEqual(["ready", "stats"]);
  });
});
