import { expect, test } from "vitest";
import { areSameCredentials, type VoiceCredentials } from "../../../src/bridge/voice-credentials.ts";

const CREDENTIALS: VoiceCredentials = { token: "t", endpoint: "e", sessionId: "s", channelId: "1" };

test("credentials are the same when all four members are", () => {
  expect(areSameCredentials(CREDENTIALS, { ...CREDENTIALS })).toBe(true);
  for (const change of [{ token: "u" }, { endpoint: "f" }, { sessionId: "r" }, { channelId: undefined }]) {
    expect(areSameCredentials(CREDENTIALS, { ...CREDENTIALS, ...change }), JSON.stringify(change)).toBe(false);
  }
});
