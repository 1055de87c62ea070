// Stories that must hear real time, on machines that have no time: beside each a control plays in the same run, changed
// by nothing. What goes wrong while the control is heard as it should be is a fault; what goes wrong while the control
// stutters too is the machine's doing, and the story is told again.

import type { Stage } from "../../lab/stage/stage.ts";
import { MusicCall } from "./music-call.ts";
import { stepsOf } from "./steps-of.ts";

const ATTEMPTS = 3;
/** Frames are 20 ms apart; two that are further apart than this came late. */
const STEP_MS_MAX = 30;
/** Of a control that has played at all. */
const SOUND_FRAMES_MIN = 5;
/** A song of six seconds that is decoded, and encoded anew for its volume. The stage serves it. */
const CONTROL = { file: "chord.mp3", player: { volume: 50 } };

/** Tells a story, up to three times where the machine spoils it. Throws what it throws while the control is well. */
export async function unlessStarved(stage: Stage, story: () => Promise<void>): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const control = await MusicCall.join(stage, { daveVersion: 0 });
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
  const { heard } = control.channel.listener;
  const lastSound = heard.findLastIndex(({ isSilence }) => !isSilence);
  const sound = heard.slice(0, lastSound + 1);
  const isHoley = sound.length < SOUND_FRAMES_MIN || sound.some(({ isSilence }) => isSilence);
  const isLate = stepsOf(sound.map(({ arrivalMs }) => arrivalMs)).some((stepMs) => stepMs > STEP_MS_MAX);
  return isHoley || isLate || control.session.receiver.skippedFrames > 0;
}
