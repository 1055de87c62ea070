// Runs YouTube's player script in QuickJS in WebAssembly, without access to the node's objects, bounded in memory and
// time. After any failure the whole module is discarded, never cleaned up, as cleaning up after a hostile script can
// end the module itself. Solver thread.

import releaseVariant from "@jitl/quickjs-wasmfile-release-sync";
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
  type VmCallResult,
} from "quickjs-emscripten-core";
import { type Members, membersOf } from "../reading/json.ts";
import { OFFER } from "./prepare-script.ts";

// Its types describe the CommonJS form, whose `default` is one level deeper.
const RELEASE = releaseVariant as unknown as QuickJSSyncVariant; // as said

/** In pages of 64 KiB: 16 MiB at first, never more than 64 MiB. The runtime's own limit does not hold. */
const MEMORY_PAGES = { initial: 256, maximum: 1024 };
const ANSWER_LENGTH_MAX = 4096;
const MESSAGE_LENGTH_MAX = 200;

export interface SandboxLimits {
  /** For running the script once. */
  readonly openMs: number;
  /** For one solution. */
  readonly solveMs: number;
}

/** Challenges to solve, or their solutions. */
export interface Challenges {
  readonly challenge?: string | undefined;
  readonly signature?: string | undefined;
}

// The script expects a browser around it, and little of it. Nothing in it measures time: its clock stands still.
const BEFORE = `
delete globalThis.SharedArrayBuffer;
delete globalThis.Atomics;
(function () {
  const Real = globalThis.Date, nowMs = Real.now();
  function Date(...parts) {
    const made = parts.length === 0 ? new Real(nowMs) : new Real(...parts);
    return new.target === undefined ? String(made) : made;
  }
  Object.assign(Date, { parse: Real.parse, UTC: Real.UTC, now: () => nowMs, prototype: Real.prototype });
  Real.prototype.constructor = globalThis.Date = Date;
})();
globalThis.window = globalThis.self = globalThis;
globalThis.document = Object.create(null);
globalThis.navigator = Object.create(null);
globalThis.XMLHttpRequest = function () {};
globalThis.location = {
  protocol: "https:", host: "www.youtube.com", hostname: "www.youtube.com", port: "", pathname: "/watch", search: "",
  hash: "", username: "", password: "", origin: "https://www.youtube.com", href: "https://www.youtube.com/watch",
};
(function () {
  const offered = [], others = ["constructor", "get", "set", "clone"];
  globalThis.${OFFER} = function (make) { offered.push(make); };
  function solveBy(make, n, s) {
    const locked = s === undefined ? undefined : encodeURIComponent(s);
    const link = make("https://www.youtube.com/watch?v=aaaaaaaaaaa", "s", locked);
    if (n !== undefined) link.set("n", n);
    const kind = Object.getPrototypeOf(link);
    const name = Object.getOwnPropertyNames(kind).find((name) => !others.includes(name));
    if (name !== undefined) link[name]();
    const signature = s === undefined ? undefined : decodeURIComponent(link.get("s"));
    return JSON.stringify({ challenge: n === undefined ? undefined : link.get("n"), signature });
  }
  return function (n, s) {
    const found = new Set();
    let failure;
    for (const make of offered) {
      try { found.add(solveBy(make, n, s)); } catch (error) { failure = error; }
    }
    if (found.size === 1) return [...found][0];
    throw found.size > 1 ? new Error("several functions answer differently") : failure || new Error("none was offered");
  };
})()
`;

/** The script was stopped at its time limit, perhaps by a busy machine: no verdict on the script. */
export class TimeLimitError extends Error {}

export class Sandbox {
  readonly #context: QuickJSContext;
  readonly #limits: SandboxLimits;
  #solve: QuickJSHandle | undefined;
  #deadlineMs = 0;
  #isPoisoned = false;

  /** Runs prepared code once. Rejects with an Error that says why it is of no use. */
  static async open(code: string, limits: SandboxLimits): Promise<Sandbox> {
    const wasmMemory = new WebAssembly.Memory(MEMORY_PAGES);
    const quickJs = await newQuickJSWASMModuleFromVariant(newVariant(RELEASE, { wasmMemory }));
    const sandbox = new Sandbox(quickJs.newContext(), limits);
    sandbox.#guarded(limits.openMs, () => {
      sandbox.#solve = sandbox.#unwrap(sandbox.#context.evalCode(BEFORE, "before.js"));
      sandbox.#unwrap(sandbox.#context.evalCode(code, "player.js")).dispose();
    });
    return sandbox;
  }

  private constructor(context: QuickJSContext, limits: SandboxLimits) {
    this.#context = context;
    this.#limits = limits;
    context.runtime.setInterruptHandler(() => performance.now() > this.#deadlineMs);
  }

  /** Throws an Error; from then on it is of no use. */
  solve({ challenge, signature }: Challenges): Challenges {
    if (this.#isPoisoned) throw new Error("the sandbox is of no use any more");
    return this.#guarded(this.#limits.solveMs, () => {
      const context = this.#context;
      if (this.#solve === undefined) throw new Error("the sandbox was not opened");
      const given = [challenge, signature].map((text) => {
        return text === undefined ? context.undefined : context.newString(text);
      });
      const result = this.#unwrap(context.callFunction(this.#solve, context.undefined, ...given));
      const answer = this.#textOf(result);
      for (const handle of [...given, result]) handle.dispose();
      return readAnswer(answer);
    });
  }

  #guarded<Value>(limitMs: number, work: () => Value): Value {
    this.#deadlineMs = performance.now() + limitMs;
    try {
      return work();
    } catch (error) {
      this.#isPoisoned = true;
      throw error instanceof Error ? error : new Error(String(error));
    }
  }

  #unwrap(result: VmCallResult<QuickJSHandle>): QuickJSHandle {
    if (result.error === undefined) return result.value;
    if (performance.now() > this.#deadlineMs) throw new TimeLimitError("the player script took too long");
    throw new Error(`the player script failed: ${this.#messageOf(result.error)}`);
  }

  /** Never longer than an answer can be: it would be copied out of the sandbox whole. */
  #textOf(handle: QuickJSHandle): string {
    const context = this.#context;
    if (context.typeof(handle) !== "string") throw new Error("the player script's answer is not a text");
    const length = context.getProp(handle, "length").consume((value) => context.getNumber(value));
    if (!(length <= ANSWER_LENGTH_MAX)) throw new Error("the player script answered too much");
    return context.getString(handle);
  }

  #messageOf(error: QuickJSHandle): string {
    try {
      const text = this.#context.getProp(error, "message").consume((message) => this.#textOf(message));
      return text.replaceAll(/[^ -~]/g, " ").slice(0, MESSAGE_LENGTH_MAX);
    } catch {
      // The error is one of the script's own making.
      return "it does not say why";
    }
  }
}

/** The script may have replaced `JSON`: validate its answer. */
function readAnswer(text: string): Challenges {
  const { challenge, signature } = parsed(text);
  const isText = (value: unknown): value is string | undefined => value === undefined || typeof value === "string";
  if (isText(challenge) && isText(signature)) return { challenge, signature };
  throw new Error("the player script's answer is not a text");
}

function parsed(text: string): Members {
  try {
    return membersOf(JSON.parse(text));
  } catch (cause) {
    throw new Error("the player script answered what cannot be read", { cause });
  }
}
