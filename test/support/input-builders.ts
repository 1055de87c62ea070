// Helpers for the tests of the inputs in addition to a media server: settings, a client whose guard permits loopback,
// distinguishable bytes, and a wait for a condition.

import type { WorkerSettings } from "../../src/bridge/worker-settings.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/log/log.ts";
import { HttpClient } from "../../src/media/input/http-client.ts";
import type { InputDeps } from "../../src/media/input/open-input.ts";
import { OutboundGuard } from "../../src/network/outbound-guard.ts";
import type { FakeClock } from "./fake-clock.ts";
import { createTrackBudget } from "./track-budgets.ts";

export const inputSettings: WorkerSettings = {
  network: { allow: ["127.0.0.0/8"] },
  localRoots: [],
  hasOpusCache: false,
  players: { updateIntervalMs: 5_000, trackStuckThresholdMs: 10_000 },
  opus: { complexity: 10, encoder: "tonearm", bitrateBps: 128_000 },
  buffer: { readAheadMs: 10_000, readAheadBytesMax: 256 * 1024 },
  http: { connectTimeoutMs: 5_000, socketTimeoutMs: 10_000, userAgent: "Tonearm/test", proxyUrl: undefined },
  routing: undefined,
  voice: { connectTimeoutMs: 5_000, isPlainFallbackAllowed: true, gatewayScheme: "ws" },
};

/** For tests in which no track of a site is played. */
export const noLinks: InputDeps["requestLink"] = async ({ track }) => {
  throw new Error(`no link for ${track.encoded}`);
};

interface InputDepsOptions {
  readonly clock: Clock;
  readonly settings?: Partial<WorkerSettings>;
  readonly signal?: AbortSignal;
  readonly requestLink?: InputDeps["requestLink"];
}

/** Deps for `openInput`; close `client` at the end. */
export function createInputDeps(options: InputDepsOptions): InputDeps {
  const { clock, signal = new AbortController().signal, requestLink = noLinks } = options;
  const settings = { ...inputSettings, ...options.settings };
  const guard = new OutboundGuard(settings.network.allow);
  const client = new HttpClient({ guard, settings: settings.http, clock });
  const budget = createTrackBudget({ clock });
  return { client, settings, clock, logger: silentLogger, signal, budget, requestLink };
}

/** Bytes in which every position differs from its neighbourhood, so that a wrong offset shows. */
export function patternBytes(sizeBytes: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(sizeBytes);
  let state = seed >>> 0;
  for (let at = 0; at < sizeBytes; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

/**
 * Waits for `pending` while time runs ahead, ten milliseconds at most for every iteration of the event loop:
 * iterations, unlike real time, also let the server in this process run. A hundred times as fast as real time and no
 * faster: bytes between two sockets take time too where other programs use the processors. Gives up after ten seconds
 * without bytes.
 */
export async function hurry<T>(clock: FakeClock, pending: Promise<T>): Promise<T> {
  let isSettled = false;
  const settle = (): void => {
    isSettled = true;
  };
  pending.then(settle, settle);
  let roundMs = performance.now();
  while (!isSettled) {
    await new Promise((resolve) => setImmediate(resolve));
    const sinceMs = performance.now() - roundMs;
    roundMs += sinceMs;
    clock.advance(Math.min(10, sinceMs * 100));
  }
  return pending;
}

/** Resolves once `isTrue`; checked after every event loop iteration. The test's own timeout limits it. */
export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}
