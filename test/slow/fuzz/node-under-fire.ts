// A real node in a separate process, with a bystander: a second client whose session and player must not be affected.
// Shared by the fuzz tests.

import { Agent, request as httpRequest } from "node:http";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { WebSocket } from "ws";
import { NodeProcess } from "../../../lab/bench/node-process.ts";
import { LrclibSite } from "../../../lab/sites/lrclib.ts";

/** The result of JSON.parse. */
type Parsed = ReturnType<JSON["parse"]>;

/** A request that takes longer hangs. */
const ANSWER_TIMEOUT_MS = 20_000;
/** Maximum growth of the node's memory during the fuzz run, once warm. */
const MEMORY_GROWTH_MAX_BYTES = 48 * 1024 * 1024;
/** Garbage varies, in several threads: the memory in use is the minimum over so many requests. */
const REQUESTS_PER_READING = 50;
const READINGS_MAX = 60;
const COMMAND = {
  name: "tonearm",
  command: process.execPath,
  args: [fileURLToPath(new URL("../../../bin/tonearm.js", import.meta.url)), "start"],
};

export interface Answer {
  readonly status: number;
  readonly body: string;
  /** Undefined when the body is no JSON. */
  readonly json: Parsed;
}

const SPARE_TIMEOUT_MS = 60_000;

export class NodeUnderFire {
  readonly url: string;
  readonly password: string;
  /** The session to shoot at. */
  readonly sessionId: string;
  readonly #process: NodeProcess;
  readonly #lyrics: LrclibSite;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 });
  readonly #sockets: readonly WebSocket[];
  readonly #bystander: Bystander;
  #requestCount = 0;
  /** The last memory readings, in bytes. */
  #readings: number[] = [];

  private constructor(
    { node, lyrics }: { readonly node: NodeProcess; readonly lyrics: LrclibSite },
    target: Client,
    bystander: Client,
  ) {
    this.#process = node;
    this.#lyrics = lyrics;
    this.url = node.url;
    this.password = node.password;
    this.sessionId = target.sessionId;
    this.#sockets = [target.socket, bystander.socket];
    this.#bystander = { ...bystander, player: undefined };
  }

  static async start(): Promise<NodeUnderFire> {
    const lyrics = await LrclibSite.start();
    const node = await NodeProcess.start(COMMAND, {
      TONEARM_VOICE_CONNECT_TIMEOUT_MS: "1000",
      LOGGING_LEVEL_ROOT: "ERROR",
      // A route planner with addresses to query and to free, which nothing is sent from.
      LAVALINK_SERVER_RATELIMIT_IP_BLOCKS: "127.0.0.0/8",
      TONEARM_ROUTE_PLANNER_SOURCES: "",
      // Without anybody to ask for lyrics, their routes answer 500, as they do in Lavalink.
      PLUGINS_LRCLIB_SERVER: lyrics.url,
    });
    const [target, bystander] = [await connect(node, "1"), await connect(node, "2")];
    const started = new NodeUnderFire({ node, lyrics }, target, bystander);
    await started.#setUpBystander();
    await started.#spareIsThere();
    // Before, it was smaller.
    started.#readings = [];
    return started;
  }

  /** It starts by itself some seconds after the first player, and would count as growth. */
  async #spareIsThere(): Promise<void> {
    const givenUpMs = performance.now() + SPARE_TIMEOUT_MS;
    while ((await this.request("GET", "/v4/tonearm/load")).json.hasSpareWorker !== true) {
      if (performance.now() > givenUpMs) throw new Error("no spare worker has started");
    }
  }

  async request(method: string, path: string, body?: string): Promise<Answer> {
    const answer = await this.#send(method, path, body);
    this.#requestCount += 1;
    if (this.#requestCount % REQUESTS_PER_READING === 0) await this.#readMemory();
    return answer;
  }

  #send(method: string, path: string, body?: string): Promise<Answer> {
    const headers = {
      Authorization: this.password,
      ...(body === undefined
        ? {}
        : { "Content-Type": "application/json", "Content-Length": String(Buffer.byteLength(body)) }),
    };
    return new Promise((resolve, reject) => {
      const request = httpRequest(this.url + path, {
        method,
        headers,
        agent: this.#agent,
        signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      });
      request.on("error", (error) => reject(new Error(`${method} ${path} ${body}: ${error.message}`)));
      request.on("response", async (response) => {
        let text = "";
        response.setEncoding("utf8");
        for await (const chunk of response) text += chunk;
        resolve({ status: response.statusCode ?? 0, body: text, json: parseOrUndefined(text) });
      });
      request.end(body);
    });
  }

  /**
   * Bytes that the node uses, by the readings since the last call. Free memory of the main thread's heap does not
   * count.
   */
  async memoryBytes(): Promise<number> {
    await this.#readMemory();
    const least = Math.min(...this.#readings);
    this.#readings = [];
    return least;
  }

  async #readMemory(): Promise<void> {
    this.#readings.push((await this.#send("GET", "/v4/stats")).json.memory.used);
    if (this.#readings.length > READINGS_MAX) this.#readings.shift();
  }

  /** The threads of all plugins run, and count as growth no more. */
  async startPlugins(): Promise<void> {
    const { json } = await this.request("GET", "/v4/tonearm/plugins");
    for (const { name, state } of json as readonly { readonly name: string; readonly state: string }[]) {
      if (state !== "off") await this.request("POST", `/v4/tonearm/plugins/${name}/reload`);
    }
    this.#readings = [];
    await this.#readMemory();
  }

  /** The node lives, still the same process; it has not grown; and the bystander has noticed nothing. */
  async expectUnharmed(warmMemoryBytes: number): Promise<void> {
    const { player, received, sessionId } = this.#bystander;
    const after = await this.request("GET", `/v4/sessions/${sessionId}/players`);
    expect(after.json.map(withoutTime)).toEqual([player]);
    expect(received.filter(({ op }) => op === "event")).toEqual([]);
    const grownBytes = (await this.memoryBytes()) - warmMemoryBytes;
    console.log(`memory: ${Math.round(grownBytes / 1024)} KiB more than when warm`);
    expect(grownBytes).toBeLessThan(MEMORY_GROWTH_MAX_BYTES);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.terminate();
    this.#agent.destroy();
    await this.#process.close();
    await this.#lyrics.close();
  }

  async #setUpBystander(): Promise<void> {
    const path = `/v4/sessions/${this.#bystander.sessionId}/players/1`;
    const body = JSON.stringify({ volume: 42, paused: true, filters: { timescale: { speed: 2 } } });
    this.#bystander.player = withoutTime((await this.request("PATCH", path, body)).json);
  }
}

interface Client {
  readonly socket: WebSocket;
  readonly sessionId: string;
  /** Everything received. */
  readonly received: readonly Parsed[];
}

interface Bystander extends Client {
  player: Parsed;
}

function connect({ url, password }: NodeProcess, userId: string): Promise<Client> {
  const headers = { Authorization: password, "User-Id": userId, "Client-Name": "fuzz/1" };
  const socket = new WebSocket(`${url.replace("http", "ws")}/v4/websocket`, { headers });
  const received: Parsed[] = [];
  return new Promise((resolve, reject) => {
    socket.on("error", reject);
    socket.on("message", (data) => {
      const message = JSON.parse(String(data));
      received.push(message);
      if (message.op === "ready") resolve({ socket, sessionId: message.sessionId, received });
    });
  });
}

function withoutTime(player: Parsed): Parsed {
  return { ...player, state: { ...player.state, time: undefined } };
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not every answer is JSON
  }
}
