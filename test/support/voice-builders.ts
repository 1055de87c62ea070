// A voice connection ready for tests, with everything it reported to its listener.

import { setImmediate, setTimeout } from "node:timers/promises";
import type { VoiceCredentials } from "../../src/bridge/voice-credentials.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import type { Random } from "../../src/lib/random.ts";
import { createLogger, type LogFields } from "../../src/log/log.ts";
import { LocalPacer } from "../../src/media/pacer/local-pacer.ts";
import { PacerLink } from "../../src/media/pacer/pacer-link.ts";
import { VoiceConnection } from "../../src/media/voice/connection/voice-connection.ts";
import type { VoiceStatus } from "../../src/media/voice/voice.ts";
import { VoiceThreadLimits } from "../../src/media/voice/voice-limits.ts";
import { OutboundGuard, type ResolveHost } from "../../src/network/outbound-guard.ts";
import { type Sockets, systemSockets } from "../../src/network/sockets.ts";
import { FakeClock } from "./fake-clock.ts";

/** No jitter, and streams that start at known values. */
export const fixedRandom: Random = { bytes: (length) => new Uint8Array(length), uint32: () => 7, unit: () => 0.5 };

export interface LoggedLine {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

export interface VoiceFixture {
  readonly connection: VoiceConnection;
  readonly states: VoiceStatus[];
  readonly closes: { readonly code: number; readonly reason: string; readonly isByRemote: boolean }[];
  /** States and closes in order. */
  readonly story: string[];
  readonly lines: LoggedLine[];
  /** Frames lost each time that a send path ended before they left. */
  readonly framesLost: number[];
  /** To give it another pacer. */
  readonly pacer: PacerLink;
  /** One frame that is due at once; on a clock of the test's it leaves before this returns. */
  sendNow(opus: Uint8Array): boolean;
  credentials(changes?: Partial<VoiceCredentials>): VoiceCredentials;
}

export interface VoiceFixtureOptions {
  readonly endpoint: string;
  readonly clock?: Clock;
  readonly sockets?: Sockets;
  readonly guildId?: string;
  readonly userId?: string;
  readonly connectTimeoutMs?: number;
  readonly isPlainFallbackAllowed?: boolean;
  readonly networkAllow?: readonly string[];
  readonly resolve?: ResolveHost;
  readonly threadLimits?: VoiceThreadLimits;
  readonly random?: Random;
  readonly work?: (handler: () => void) => void;
  /** Called before frames not yet sent would take another send path. */
  readonly onSendPathChanging?: () => void;
}

export function createVoice(options: VoiceFixtureOptions): VoiceFixture {
  const states: VoiceStatus[] = [];
  const closes: VoiceFixture["closes"] = [];
  const story: string[] = [];
  const framesLost: number[] = [];
  const lines: LoggedLine[] = [];
  const clock = options.clock ?? systemClock;
  const sockets = options.sockets ?? systemSockets;
  const pacer = new PacerLink(() => undefined);
  pacer.connect(new LocalPacer(clock, sockets));
  const connection = new VoiceConnection({
    guildId: options.guildId ?? "4001",
    userId: options.userId ?? "5001",
    settings: {
      connectTimeoutMs: options.connectTimeoutMs ?? 5000,
      isPlainFallbackAllowed: options.isPlainFallbackAllowed ?? true,
      gatewayScheme: "ws",
    },
    guard: new OutboundGuard(
      options.networkAllow ?? ["127.0.0.0/8"],
      options.resolve === undefined ? {} : { resolve: options.resolve },
    ),
    sockets,
    pacer,
    work: options.work ?? ((handler) => handler()),
    threadLimits: options.threadLimits ?? new VoiceThreadLimits({ clock, areFramesAhead: () => true }),
    clock,
    random: options.random ?? fixedRandom,
    logger: createLogger((level, message, fields) => lines.push({ level, message, fields })),
    listener: {
      onVoiceStatus(state) {
        states.push(state);
        story.push(`connected ${state.isConnected} ready ${state.isReady}`);
      },
      onVoiceClosed(close) {
        closes.push(close);
        story.push(`closed ${close.code} ${close.isByRemote}`);
      },
      onSendPathChanging: () => options.onSendPathChanging?.(),
      onFramesLost: (count) => framesLost.push(count),
    },
  });
  const credentials = (changes: Partial<VoiceCredentials> = {}): VoiceCredentials => ({
    token: "token-1",
    endpoint: options.endpoint,
    sessionId: "session-1",
    channelId: "6001",
    ...changes,
  });
  const sendNow = (opus: Uint8Array): boolean => {
    const isSent = connection.sendFrame(opus, clock.now());
    if (clock instanceof FakeClock) clock.advance(0);
    return isSent;
  };
  return { connection, states, closes, story, lines, framesLost, pacer, sendNow, credentials };
}

/** Lets sockets work until `condition` holds; fails naming it after `timeoutMs` of real time. */
export async function until(condition: () => boolean, timeoutMs = 30_000): Promise<void> {
  const startMs = performance.now();
  while (!condition()) {
    if (performance.now() - startMs > timeoutMs) throw new Error(`never happened: ${condition}`);
    await setTimeout(1);
  }
}

/** Lets the sockets do what they have to do, for "and nothing more happens". */
export async function settle(): Promise<void> {
  for (let round = 0; round < 30; round++) await setImmediate();
}
