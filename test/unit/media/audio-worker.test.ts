import { expect, test } from "vitest";
import type { VoiceCredentials } from "../../../src/bridge/voice-credentials.ts";
import { silentLogger } from "../../../src/log/log.ts";
import { AudioWorker } from "../../../src/media/audio-worker.ts";
import { PacerLink } from "../../../src/media/pacer/pacer-link.ts";
import type { VoiceConnectOptions } from "../../../src/media/voice/voice.ts";
import { AheadVoice } from "../../support/ahead-voice.ts";
import { createErrorBoundary } from "../../support/error-boundaries.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { createTrackBudget } from "../../support/track-budgets.ts";

const CREDENTIALS: VoiceCredentials = { token: "t", endpoint: "voice.example", sessionId: "s", channelId: "1" };

class RecordingVoice extends AheadVoice {
  readonly connects: unknown[] = [];

  override async connect(...connect: [VoiceCredentials?, VoiceConnectOptions?]): Promise<void> {
    this.connects.push(connect);
  }
}

test("a worker connects voice with the patience that its command asks for", async () => {
  const clock = new FakeClock();
  const voice = new RecordingVoice(clock);
  const answers: Promise<unknown>[] = [];
  const worker = new AudioWorker({
    clock,
    boundary: createErrorBoundary().boundary,
    logger: silentLogger,
    open: () => Promise.reject(new Error("nothing is opened here")),
    codecs: {
      createDecoder: () => Promise.reject(new Error("nothing is decoded here")),
      acquireEncoder: () => Promise.reject(new Error("nothing is encoded here")),
      releaseEncoder: () => undefined,
    },
    createBudget: (taskId) => createTrackBudget({ clock, taskId }),
    createVoice: () => Promise.resolve(voice),
    trackStuckThresholdMs: 10_000,
    takeThreadLoad: () => 0,
    pacer: new PacerLink(() => undefined),
    setPacer: () => undefined,
    setComplexity: () => undefined,
    send: () => undefined,
    answer: (_request, work) => answers.push(work),
    onClosed: () => undefined,
  });
  const connect = { type: "connectVoice", playerId: 1, voiceId: 1, credentials: CREDENTIALS } as const;
  worker.execute({ type: "createPlayer", playerId: 1, guildId: "1", userId: "2", volume: 100, filters: {} });
  worker.execute({ ...connect, requestId: 1, isPatient: true });
  worker.execute({ ...connect, requestId: 2 });
  expect(await Promise.all(answers)).toEqual([{ isConnected: true }, { isConnected: true }]);
  expect(voice.connects).toEqual([
    [CREDENTIALS, { isPatient: true }],
    [CREDENTIALS, { isPatient: undefined }],
  ]);
  worker.close();
});
