// Scenarios that need real time, on machines that may be starved: next to each an unchanged control plays in the same
// run. A failure while the control plays as it should is a fault; a failure while the control stutters too is caused by
// the machine, and the scenario is repeated.

import type { TestEnvironment } from "../../lab/test-environment/test-environment.ts";
import { MusicCall } from "./music-call.ts";
import { stepsOf } from "./steps-of.ts";

const ATTEMPTS = 3;
/** Frames are 20 ms apart; two that are further apart than this count as late. */
const STEP_MS_MAX = 30;
/** Audio frames of a control that has played at all. */
const AUDIO_FRAMES_MIN = 5;
/** A song of six seconds that is decoded, and encoded again for its volume. The test environment serves it. */
const CONTROL = { file: "chord.mp3", player: { volume: 50 } };

/** Runs a scenario, up to three times where the machine is starved. Throws its error if the control played well. */
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
  process.stderr.write("not judged: the control stuttered as well, so this machine is starved\n");
}

function isStarved(control: MusicCall): boolean {
  const { received } = control.channel.listener;
  const lastAudio = received.findLastIndex(({ isSilence }) => !isSilence);
  const audio = received.slice(0, lastAudio + 1);
  const isHoley = audio.length < AUDIO_FRAMES_MIN || audio.some(({ isSilence }) => isSilence);
  const isLate = stepsOf(audio.map(({ arrivalMs }) => arrivalMs)).some((stepMs) => stepMs > STEP_MS_MAX);
  return isHoley || isLate || control.session.receiver.skippedFrames > 0;
}
