// What belongs to a node whose bounds several clients share: their keys, the dashboard's password, fake sites for its
// plugins and a folder with one local song. Everything is on loopback, and is gone with `close`.

import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countedSong } from "../../media-files/counted-song.ts";
import { AllSites } from "../../sites/all-sites.ts";
import { type SiteScript, SiteServer } from "../../sites/site-server.ts";

/**
 * What a case needs of its node. "plain": only a password; "shared": keys, dashboard, local files, plugins with fake
 * sites, and little memory; "routed": the same, with a route planner for the 16 addresses of `ROUTED_BLOCK`.
 */
export type NodeSetting = "plain" | "shared" | "routed";

/** Clients with a key each: two without limits, and one that may use a single source. */
const KEY_NAMES = ["greedy", "honest", "getyarn-only"] as const;
export type KeyName = (typeof KEY_NAMES)[number];

/** Variables of the node that belong to other programs. */
export const FOREIGN_VARIABLES = ["DATABASE_URL", "SENTRY_DSN", "REDIS"];
/** Only Linux lets a program send from all of 127.0.0.0/8 without further ado. */
const ROUTED_BLOCK = "127.16.0.0/28";
/** Some tens of megabytes for client data, so that a case fills them in seconds. */
const HEAP_MEGABYTES = 128;
const LOCAL_SONG_SECONDS = 60;
/** Hosts of strangers. */
const STRANGERS = 40;

export class NodeContext {
  readonly dashboardPassword = "dashboard password";
  readonly sites: AllSites;
  /** The text of each key. */
  readonly keys: Readonly<Record<KeyName, string>>;
  /** Absolute path of a song that the local source may read. */
  readonly localSong: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly #folder: string;
  readonly #strangers: SiteServer;
  readonly #setStranger: (script: SiteScript) => void;

  private constructor(setting: NodeSetting, parts: Parts) {
    this.sites = parts.sites;
    this.keys = parts.keys;
    this.localSong = parts.localSong;
    this.#folder = parts.folder;
    this.#strangers = parts.strangers;
    this.#setStranger = parts.setStranger;
    this.environment = {
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MEGABYTES}`,
      LANG: "C.UTF-8",
      ...Object.fromEntries(FOREIGN_VARIABLES.map((name) => [name, `value of ${name}`])),
    };
    const hosts = this.#strangers.hosts(...Array.from({ length: STRANGERS }, (_, index) => this.strangerHost(index)));
    this.args = [
      ...parts.sites.args,
      ...Object.entries(hosts).map(([host, url]) => `--tonearm.hosts.${host}=${url}`),
      `--tonearm.keys.file=${parts.keyFile}`,
      `--tonearm.dashboard.password=${this.dashboardPassword}`,
      "--lavalink.server.sources.local=true",
      `--tonearm.local.roots=${parts.folder}`,
      ...(setting === "routed"
        ? [`--lavalink.server.ratelimit.ipBlocks=${ROUTED_BLOCK}`, "--lavalink.server.ratelimit.strategy=RotateOnBan"]
        : []),
    ];
  }

  /** Undefined where the setting needs none. */
  static async start(setting: NodeSetting): Promise<NodeContext | undefined> {
    if (setting === "plain") return undefined;
    const folder = await mkdtemp(join(tmpdir(), "tonearm-isolation-"));
    const localSong = join(folder, "song.ogg");
    await writeFile(localSong, countedSong({ seconds: LOCAL_SONG_SECONDS }));
    const keys = Object.fromEntries(
      KEY_NAMES.map((name) => [name, `tonearm_${randomBytes(32).toString("base64url")}`]),
    ) as Record<KeyName, string>;
    const keyFile = join(folder, "keys.yml");
    await writeFile(keyFile, keyFileText(keys));
    let stranger: SiteScript = () => undefined;
    return new NodeContext(setting, {
      folder,
      localSong,
      keys,
      keyFile,
      sites: await AllSites.start(),
      strangers: await SiteServer.start((request) => stranger(request)),
      setStranger: (script) => {
        stranger = script;
      },
    });
  }

  /** A host of nobody the node's operator knows, which only plugins find. */
  strangerHost(index: number): string {
    return `artist.stranger-${index % STRANGERS}.example`;
  }

  /** From now on these hosts answer so. */
  answerStrangers(script: SiteScript): void {
    this.#setStranger(script);
  }

  async close(): Promise<void> {
    await this.sites.close();
    await this.#strangers.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

interface Parts {
  readonly folder: string;
  readonly localSong: string;
  readonly keys: Readonly<Record<KeyName, string>>;
  readonly keyFile: string;
  readonly sites: AllSites;
  readonly strangers: SiteServer;
  readonly setStranger: (script: SiteScript) => void;
}

function keyFileText(keys: Readonly<Record<KeyName, string>>): string {
  return KEY_NAMES.map((name) => {
    const hash = createHash("sha256").update(keys[name]).digest("base64url");
    const limits = name === "getyarn-only" ? '\n  sources: ["getyarn.io"]' : "";
    return `${name}:\n  hashes: ["sha256:${hash}"]${limits}\n`;
  }).join("");
}
