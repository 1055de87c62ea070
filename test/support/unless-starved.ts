// Stories that must hear real time, on machines that have no time: beside each a control plays in the same run, changed
// by nothing. What goes wrong while the control is heard as it should be is a fault; what goes wrong while the control
// stutters too is the machine's doing, and the story is told again.

import type { TestEnvironment } from "../../lab/test-environment/test-environment.ts";
import { MusicCall } from "./music-call.ts";
import { stepsOf } from "./steps-of.ts";

const ATTEMPTS = 3;
/** Frames are 20 ms apart; two that are further apart than this came late. */
const STEP_MS_MAX = 30;
/** Of a control that has played at all. */
const AUDIO_FRAMES_MIN = 5;
/** A song of six seconds that is decoded, and encoded anew for its volume. The stage serves it. */
const CONTROL = { file: "chord.mp3", player: { volume: 50 } };

/** Tells a story, up to three times where the machine spoils it. Throws what it throws while the control is well. */
export async function unlessStarved(env: TestEnvironment, story: () => Promise<void>): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const control = await MusicCall.join(env, { daveVersion: 0 });
    await control.play(CONTROL.file, CONTROL.player);
    try {
      return await story();
    } catch (error) {
      if (!isStarved(control)) throw error;
    } finally {
      await control.leave();
    }
  }
  process.stderr.write("not judged: this machine had no time for the control either\n");
}

function isStarved(control: MusicCall): boolean {
  const { received } = control.channel.listener;
  const lastAudio = received.findLastIndex(({ isSilence }) => !isSilence);
  const audio = received.slice(0, lastAudio + 1);
  const isHoley = audio.length < AUDIO_FRAMES_MIN || audio.some(({ isSilence }) => isSilence);
  const isLate = stepsOf(audio.map(({ arrivalMs }) => arrivalMs)).some((stepMs) => stepMs > STEP_MS_MAX);
  return isHoley || isLate || control.session.receiver.skippedFrames > 0;
}
