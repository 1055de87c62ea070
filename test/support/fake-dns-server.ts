// A DNS server on loopback (RFC 1035) that answers what a test says: addresses, an alias for another name, or nothing.

import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";

/** `undefined`: no answer at all. Unknown names do not exist. */
export type Zone = Readonly<Record<string, readonly string[] | { readonly alias: string } | undefined>>;

const TYPES: Readonly<Record<number, 4 | 6>> = { 1: 4, 28: 6 };
const CNAME = 5;

export class FakeDnsServer {
  /** `name type`, in the order of the queries. */
  readonly questions: string[] = [];
  zone: Zone;
  readonly #socket: Socket = createSocket("udp4");

  private constructor(zone: Zone) {
    this.zone = zone;
  }

  static async start(zone: Zone): Promise<FakeDnsServer> {
    const server = new FakeDnsServer(zone);
    server.#socket.on("message", (query, { port, address }) => {
      const answer = server.#answer(query);
      if (answer !== undefined) server.#socket.send(answer, port, address);
    });
    server.#socket.bind(0, "127.0.0.1");
    await once(server.#socket, "listening");
    return server;
  }

  /** For `HostResolverOptions.servers`. */
  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  close(): void {
    this.#socket.close();
  }

  #answer(query: Buffer): Buffer | undefined {
    const end = query.indexOf(0, 12) + 5;
    const name = readName(query.subarray(12));
    const type = query.readUInt16BE(end - 4);
    this.questions.push(`${name} ${type}`);
    const records: Buffer[] = [];
    let owner = name;
    for (let entry = this.zone[owner]; entry !== undefined && "alias" in entry; entry = this.zone[owner]) {
      records.push(record(owner, CNAME, encodeName(entry.alias)));
      owner = entry.alias;
    }
    const entry = this.zone[owner];
    if (entry === undefined && owner in this.zone) return undefined;
    const isFamily = (address: string): boolean => (address.includes(":") ? 6 : 4) === TYPES[type];
    const addresses = Array.isArray(entry) ? entry.filter(isFamily) : [];
    records.push(...addresses.map((address) => record(owner, type, bytesOf(address))));
    const head = Buffer.from(query.subarray(0, 12));
    head.writeUInt16BE(entry === undefined ? 0x8183 : 0x8180, 2);
    head.writeUInt16BE(records.length, 6);
    head.fill(0, 8, 12);
    return Buffer.concat([head, query.subarray(12, end), ...records]);
  }
}

function readName(bytes: Buffer): string {
  const labels: string[] = [];
  for (let at = 0; bytes[at]! > 0; at += bytes[at]! + 1)
    labels.push(bytes.toString("latin1", at + 1, at + 1 + bytes[at]!));
  return labels.join(".").toLowerCase();
}

function encodeName(name: string): Buffer {
  const labels = name.split(".").map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.of(0)]);
}

/** With a time to live of 0: it is queried again each time. */
function record(owner: string, type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10);
  head.writeUInt16BE(type, 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([encodeName(owner), head, data]);
}

function bytesOf(address: string): Buffer {
  if (!address.includes(":")) return Buffer.from(address.split(".").map(Number));
  const [left = "", right = ""] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const groups = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const zeros = new Array<string>(8 - groups(left).length - groups(right).length).fill("0");
  const all = [...groups(left), ...zeros, ...groups(right)];
  return Buffer.from(all.map((group) => group.padStart(4, "0")).join(""), "hex");
}
