// Stores the player script that was prepared last, so that the next thread and the next start of the node neither fetch
// nor parse it again: compressed, as a persisted value of the plugin. Plugin thread.

import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, brotliDecompress, constants } from "node:zlib";
import type { Cache, PluginHost } from "../../src/plugin-api/plugin.ts";
import { number, string } from "./read-json.ts";

/** Of the code that `prepareScript` makes: increase it with each change of that. A test fails otherwise. */
export const PREPARED_VERSION = 1;
/** YouTube replaces its script every few days. */
const TTL_MS = 30 * 24 * 60 * 60_000;
const CODE_BYTES_MAX = 8 * 1024 * 1024;
/** Compresses nearly as well as the best, in a twentieth of the time. */
const COMPRESSION = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

const compress = promisify(brotliCompress);
const decompress = promisify(brotliDecompress);

interface PreparedScript {
  readonly url: string;
  readonly signatureTimestamp: number;
  /** As `prepareScript` made it. */
  readonly code: string;
}

export class PreparedScripts {
  /** By the script's address. Whatever the file has: it is checked when it is read. */
  readonly #stored: Cache<unknown>;

  constructor(host: Pick<PluginHost, "cache">) {
    this.#stored = host.cache("prepared player script", { ttlMs: TTL_MS, entriesMax: 1, persist: "large" });
  }

  /** Undefined if there is none, if it is damaged, or if another version of this code has prepared it. */
  async get(url: string): Promise<PreparedScript | undefined> {
    const stored = this.#stored.get(url);
    const signatureTimestamp = number(stored, "signatureTimestamp");
    const packed = (stored as { readonly packed?: unknown } | undefined)?.packed;
    if (signatureTimestamp === undefined || typeof packed !== "string") return undefined;
    try {
      const bytes = await decompress(Buffer.from(packed, "base64"), { maxOutputLength: CODE_BYTES_MAX });
      const script = { url, signatureTimestamp, code: bytes.toString("utf8") };
      return digestOf(script) === string(stored, "digest") ? script : undefined;
    } catch {
      // Not what was compressed.
      return undefined;
    }
  }

  /** Replaces the one before. */
  async set(script: PreparedScript): Promise<void> {
    const { url, signatureTimestamp, code } = script;
    const packed = (await compress(code, COMPRESSION)).toString("base64");
    this.#stored.set(url, { signatureTimestamp, digest: digestOf(script), packed });
  }

  delete(url: string): void {
    this.#stored.delete(url);
  }
}

function digestOf({ url, signatureTimestamp, code }: PreparedScript): string {
  const parts = [PREPARED_VERSION, url, signatureTimestamp, code];
  return createHash("sha256").update(parts.join("\n")).digest("hex");
}
