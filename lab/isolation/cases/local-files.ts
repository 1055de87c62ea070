// Encoded tracks of local files whose paths are crafted to make errors expensive: far too long, or like a stack.

import { encodeTrack, httpTrack } from "../../conformance/workbench/encoded-track.ts";
import { summary } from "../harness/attack.ts";
import type { HostileCase, HostileLayer } from "../harness/hostile-case.ts";
import { LOCAL_ROOT } from "../harness/node-under-test.ts";

/** Some players play a file of this name, and each replaces it in the same moment when `isReplaced`. */
function playsPath(
  name: string,
  what: string,
  fileName: string,
  { isReplaced = false, isQuick = false } = {},
): HostileCase {
  return {
    name,
    what,
    isQuick,
    arm: (attack) => {
      const identifier = `${LOCAL_ROOT}/${fileName}`;
      const encoded = encodeTrack(httpTrack(identifier, { identifier, sourceName: "local", uri: null }));
      return async () => {
        const bot = await attack.session();
        const guildIds = await Promise.all(Array.from({ length: 4 }, () => attack.join(bot)));
        const answers = guildIds.map(async (guildId) => {
          const first = attack.patch(bot, guildId, { track: { encoded } });
          return isReplaced ? Promise.all([first, attack.patch(bot, guildId, { track: { encoded } })]) : first;
        });
        const isOver = (guildId: string) => bot.events("TrackEndEvent", guildId).length > 0;
        await Promise.all(answers);
        await bot.until(() => guildIds.every(isOver), "the ends", attack.seconds * 1000).catch(() => undefined);
        return `PATCH: ${summary((await Promise.all(answers)).flat())}`;
      };
    },
  };
}

/** As a line of a stack, with many places where a function name might end. */
const LIKE_A_STACK = `\n at ${" (".repeat(9000)}`;

export const localFiles: HostileLayer = {
  layer: "local",
  cases: [
    playsPath("local-long-path", "a path of 18,000 characters", "a".repeat(18_000)),
    playsPath("local-line-breaks", "a path of 18,000 characters that looks like a stack", LIKE_A_STACK, {
      isQuick: true,
    }),
    playsPath("local-line-breaks-short", "the same within the length of paths", LIKE_A_STACK.slice(0, 3000)),
    playsPath("local-long-path-replaced", "the same, replaced in the same moment", LIKE_A_STACK, { isReplaced: true }),
  ],
};
