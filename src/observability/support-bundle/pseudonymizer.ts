// Makes a text one that can be shown to anybody: secrets go, and what names people and machines (guilds, users,
// sessions, addresses) gets another name, the same one wherever it stands in the bundle. Main thread.

import { createHmac, randomBytes } from "node:crypto";
import { homedir } from "node:os";
import ipaddr from "ipaddr.js";
import { redactText } from "../../lib/redact-text.ts";
import { secretPattern, withoutSecrets } from "./secret-forms.ts";

const KEY_SIZE_BYTES = 16;
/** Digits of a pseudonym: few enough to read, enough for some thousand names. */
const NAME_DIGITS = 8;
const TEXT_LENGTH_MAX = 256 * 1024;

/** Discord ids: since 2015 they have 17 digits or more. Part of a decimal number is not an id. */
const SNOWFLAKE = /(?<![\d.])\d{17,20}(?!\d|\.\d)/g;
/** The node's own session ids: as fields, which would otherwise be removed whole, and in other texts. */
const SESSION_FIELD = /\bsessionId["'`]?\s?[=:]\s?["'`]?([a-z\d]{16})(?![a-z\d])["'`]?/g;
const SESSION_ID = /(\bsession |\/sessions\/)([a-z\d]{16})(?![a-z\d])/g;
const IPV4 = /(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.]*\d|-[a-z])/g;
const IPV6 = /(?<![\w:.])(?:[\da-f]{0,4}:){2,7}(?:[\da-f]{1,4}|(?:\d{1,3}\.){3}\d{1,3})?(?![\w:])/gi;
/** Only the host of a URL matters for a problem; the rest may say what is played. */
const BEHIND_HOST = /\b((?:https?|wss?|ftp):\/\/(?:<redacted>@)?[^\s/?#"'`<>]*)[/?#](?:<redacted>|[^\s"'`<>])*/gi;
/** Log fields that say what is played. */
const WHAT_IS_PLAYED = /\b(title|author|identifier|query|track|uri)=("(?:[^"\\]|\\.)*"|\S+)/g;

interface PseudonymizerOptions {
  /** To be found wherever they stand. */
  readonly secrets: readonly string[];
  /** Pseudonyms are derived from it: the same key gives the same names. Default: a new random key. */
  readonly key?: string | undefined;
}

/** One for a bundle. */
export class Pseudonymizer {
  /** Gives the same names in another pseudonymizer. */
  readonly key: string;
  readonly #secrets: RegExp | undefined;
  readonly #home = homedir();

  constructor({ secrets, key }: PseudonymizerOptions) {
    this.key = key ?? randomBytes(KEY_SIZE_BYTES).toString("hex");
    this.#secrets = secretPattern(secrets);
  }

  /** The text, of several lines perhaps, as it may be shown. */
  text(text: string): string {
    const known = withoutSecrets(text.slice(0, TEXT_LENGTH_MAX), this.#secrets);
    const lines = known.split("\n").map((line) => this.#line(line));
    return withoutSecrets(lines.join("\n"), this.#secrets);
  }

  /** A log line without what is played. */
  logLine(text: string): string {
    return this.text(text.replaceAll(WHAT_IS_PLAYED, "$1=<left out>"));
  }

  /** `id-3f2a91c0`: the other name of an id. */
  name(kind: "id" | "session" | "ip", id: string): string {
    const digits = createHmac("sha256", this.key).update(id).digest("hex").slice(0, NAME_DIGITS);
    return `${kind}-${digits}`;
  }

  #line(line: string): string {
    const named = line.replaceAll(SESSION_FIELD, (_, id: string) => this.name("session", id));
    let shown = redactText(named).replaceAll(BEHIND_HOST, "$1/…");
    if (this.#home.length > 1) shown = shown.replaceAll(this.#home, "~");
    return shown
      .replaceAll(SESSION_ID, (_, before: string, id: string) => before + this.name("session", id))
      .replaceAll(SNOWFLAKE, (id) => this.name("id", id))
      .replaceAll(IPV6, (address) => this.#address(address))
      .replaceAll(IPV4, (address) => this.#address(address));
  }

  /** Adds the kind of network. Loopback and unspecified addresses are not personal and stay. */
  #address(text: string): string {
    if (!ipaddr.isValid(text)) return text;
    const address = ipaddr.process(text);
    const range = address.range();
    if (range === "loopback" || range === "unspecified") return text;
    const kind = range === "unicast" ? "public" : range;
    return `${this.name("ip", address.toNormalizedString())} (${kind})`;
  }
}
