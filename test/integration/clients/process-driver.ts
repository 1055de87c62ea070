// A driver in another language: a child process that receives commands and answers, one JSON object per line. To it:
// {"id", "call", "argument"} and {"packet"}. From it: {"id", "value"}, {"id", "error"}, {"report"} and {"send"}.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { RawPacket, VoiceStateRequest } from "../../support/fake-shard.ts";
import type {
  ClientBinding,
  ClientEvent,
  EqualizerBand,
  FoundTrack,
  LoadedTrack,
  SearchedSite,
  SearchingDriver,
} from "./client-driver.ts";

const ERROR_TEXT_MAX = 20_000;

interface DriverProgram {
  readonly command: string;
  readonly args: readonly string[];
}

type Line =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string }
  | { readonly report: ClientEvent }
  | { readonly send: VoiceStateRequest };

interface Call {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class ProcessDriver implements SearchingDriver {
  readonly #binding: ClientBinding;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #calls = new Map<number, Call>();
  #callCount = 0;
  #errorText = "";

  /** The program reads its binding as JSON from the environment variable CLIENT_BINDING. */
  constructor({ command, args }: DriverProgram, binding: ClientBinding) {
    this.#binding = binding;
    const { host, port, password, userId, guildId, channelId } = binding;
    const settings = JSON.stringify({ host, port, password, userId, guildId, channelId });
    this.#child = spawn(command, args, { env: { ...process.env, CLIENT_BINDING: settings } });
    this.#child.stdin.on("error", () => undefined); // `close` follows
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#errorText = (this.#errorText + text).slice(-ERROR_TEXT_MAX);
    });
    createInterface(this.#child.stdout).on("line", (line) => this.#onLine(JSON.parse(line)));
    this.#child.on("error", (error) => this.#fail(error.message));
    this.#child.on("close", (code) => this.#fail(`ended with code ${code}: ${this.#errorText}`));
  }

  async connect(): Promise<void> {
    await this.#call("connect");
  }

  async sessionId(): Promise<string> {
    return String(await this.#call("session"));
  }

  async load(url: string): Promise<LoadedTrack> {
    return (await this.#call("load", url)) as LoadedTrack; // every driver answers so
  }

  /** Rejects where the program knows no sites. */
  async search(site: SearchedSite, words: string): Promise<FoundTrack> {
    return (await this.#call("search", { site, words })) as FoundTrack; // the same
  }

  async join(): Promise<void> {
    await this.#call("join");
  }

  async play(): Promise<void> {
    await this.#call("play");
  }

  async pause(isPaused: boolean): Promise<void> {
    await this.#call("pause", isPaused);
  }

  async seek(positionMs: number): Promise<void> {
    await this.#call("seek", positionMs);
  }

  async setVolume(percent: number): Promise<void> {
    await this.#call("volume", percent);
  }

  async setEqualizer(bands: readonly EqualizerBand[]): Promise<void> {
    await this.#call("equalizer", bands);
  }

  async destroy(): Promise<void> {
    await this.#call("destroy");
  }

  receive(packet: RawPacket): void {
    this.#write({ packet });
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const closed = once(this.#child, "close");
    this.#child.kill("SIGKILL");
    await closed;
  }

  #call(call: string, argument?: unknown): Promise<unknown> {
    const id = ++this.#callCount;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject });
      this.#write({ id, call, argument });
      if (this.#child.exitCode !== null) this.#fail(`ended with code ${this.#child.exitCode}: ${this.#errorText}`);
    });
  }

  #write(line: object): void {
    this.#child.stdin.write(`${JSON.stringify(line)}\n`);
  }

  #onLine(line: Line): void {
    if ("report" in line) this.#binding.report(line.report);
    else if ("send" in line) this.#binding.send(line.send);
    else {
      const call = this.#calls.get(line.id);
      this.#calls.delete(line.id);
      if ("error" in line) call?.reject(new Error(line.error));
      else call?.resolve(line.value);
    }
  }

  #fail(message: string): void {
    for (const { reject } of this.#calls.values()) reject(new Error(`the client's process ${message}`));
    this.#calls.clear();
  }
}
