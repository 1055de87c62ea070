import { beforeEach, expect, test } from "vitest";
import { VOICE_PATIENCE_MS_MAX } from "../../../../src/bridge/commands.ts";
import type { VoiceCredentials } from "../../../../src/bridge/voice-credentials.ts";
import { IntentHolder } from "../../../../src/control/players/player-intent.ts";
import { PlayerVoice } from "../../../../src/control/players/player-voice.ts";
import type { PooledPlayer, WorkerHandle } from "../../../../src/control/workers/worker-handle.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeWorkers, settle } from "../../../support/fake-workers.ts";

const CREDENTIALS: VoiceCredentials = { token: "t1", endpoint: "voice.example:443", sessionId: "s", channelId: "9" };
const REFUSED = {
  code: "voice-connect-failed",
  message: "no",
  severity: "common",
  cause: "",
  causeStackTrace: "",
} as const;

let clock: FakeClock;
let workers: FakeWorkers;
let handle: WorkerHandle | undefined;
let intent: IntentHolder;
let voice: PlayerVoice;
let closes: (readonly [number, string, boolean])[];

beforeEach(() => {
  clock = new FakeClock();
  workers = new FakeWorkers(clock);
  closes = [];
  intent = new IntentHolder(() => undefined);
  voice = new PlayerVoice({
    intent,
    clock,
    logger: silentLogger,
    connectTimeoutMs: 5000,
    onClosed: (...close) => closes.push(close),
    onReady: () => undefined,
  });
  const player: PooledPlayer = {
    onWorkerAssigned: (assigned) => {
      handle = assigned;
      voice.onWorkerAssigned(assigned);
    },
    onWorkerLost: () => voice.onWorkerLost(),
    onWorkerEvent: (event) => {
      if (event.type === "voiceState" || event.type === "voiceClosed") voice.onWorkerEvent(event);
    },
    needsCapacity: false,
    owner: [],
    isSuspect: false,
  };
  intent.replace({ voice: { credentials: CREDENTIALS, isClosed: false } });
  voice.bePatient();
  workers.attach(player);
});

function tries(): readonly unknown[] {
  return workers.all("connectVoice").map(({ voiceId, isPatient }) => [voiceId, isPatient]);
}

test("a patient connection is not given up before its worker says so", async () => {
  expect(tries()).toEqual([[1, true]]);
  clock.advance(VOICE_PATIENCE_MS_MAX);
  await settle();
  expect(closes).toEqual([]);
  await workers.reply("connectVoice", { isConnected: true });
  expect([voice.connection.connected, closes]).toEqual([true, []]);
});

test("a connection that the worker gives up in the end is reported to the client", async () => {
  clock.advance(VOICE_PATIENCE_MS_MAX);
  await workers.replyError("connectVoice", REFUSED);
  expect(closes).toEqual([[1006, "Failed to connect to voice server", true]]);
  expect(intent.value.voice).toEqual({ credentials: CREDENTIALS, isClosed: true });
});

test("a worker that never answers is reported to the client as a failure, two minutes after its patience", async () => {
  clock.advance(VOICE_PATIENCE_MS_MAX + 119_999);
  await settle();
  expect(closes).toEqual([]);
  clock.advance(1);
  await settle();
  expect(closes).toEqual([[1006, "Failed to connect to voice server", true]]);
});

test("a close by Discord of such a connection is reported with its code", async () => {
  await workers.reply("connectVoice", { isConnected: true });
  workers.say({ type: "voiceClosed", voiceId: 1, code: 4006, reason: "Session is no longer valid.", isByRemote: true });
  expect(closes).toEqual([[4006, "Session is no longer valid.", true]]);
});

test("an update with the same values waits for the patient connection, and is answered with its failure", async () => {
  const refused = voice.connect(CREDENTIALS, handle).catch((error) => error.code);
  expect(tries()).toHaveLength(1);
  await workers.replyError("connectVoice", REFUSED);
  expect([await refused, closes, intent.value.voice]).toEqual(["voice-connect-failed", [], undefined]);
});

test("an update with the same values is answered in its time while the patient connection is still tried", async () => {
  const answered = voice.connect(CREDENTIALS, handle);
  clock.advance(5250);
  await answered;
  await workers.reply("connectVoice", { isConnected: true });
  expect([voice.connection.connected, tries().length]).toEqual([true, 1]);
});

test("other values of an update, and the next worker, are not patient", async () => {
  void voice.connect({ ...CREDENTIALS, token: "t2" }, handle);
  workers.lose();
  workers.start();
  expect(tries()).toEqual([
    [1, true],
    [2, false],
    [3, false],
  ]);
});

test("an update is not answered with the failure of an attempt on a worker that the player was taken off", async () => {
  const answered = voice.connect({ ...CREDENTIALS, token: "t2" }, handle);
  voice.onWorkerLost();
  await workers.replyError("connectVoice", REFUSED);
  voice.onWorkerAssigned(handle!); // assigned when it was attached
  await answered;
  await workers.reply("connectVoice", { isConnected: true });
  expect([voice.connection.connected, closes, intent.value.voice?.isClosed]).toEqual([true, [], false]);
});

test("a connection that is opened again after the loss of a worker is given up as fast as any", async () => {
  await workers.reply("connectVoice", { isConnected: true });
  workers.lose();
  workers.start();
  clock.advance(119_999);
  await settle();
  expect(closes).toEqual([]);
  clock.advance(1);
  await settle();
  expect(closes).toEqual([[1006, "Failed to connect to voice server", true]]);
});

test("nothing is waited for without a connection that is being opened", async () => {
  await workers.reply("connectVoice", { isConnected: true });
  await voice.untilOpened(10_000);
  voice.close();
  await voice.untilOpened(10_000);
  expect(clock.pendingCount).toBe(0);
});
