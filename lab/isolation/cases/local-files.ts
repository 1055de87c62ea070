// Local identifiers that no file has: lengths and line breaks that reach system calls, messages and stack texts.

import { encodeTrack, httpTrack } from "../../conformance/workbench/encoded-track.ts";
import { sleep } from "../../sleep.ts";
import { type Attack, summary } from "../harness/attack.ts";
import { beside } from "../harness/beside.ts";
import type { HostileCase, HostileLayer } from "../harness/hostile-case.ts";
import { starts } from "./starts.ts";

const LENGTH = 18_000;

function localTrack(identifier: string): string {
  return encodeTrack(httpTrack(identifier, { sourceName: "local", uri: identifier, details: ["ogg"] }));
}

/** The identifier is played twice, beside a client that plays a real file. */
function playsLocal(
  name: string,
  what: string,
  identifier: (folder: string) => string,
  { isReplaced = false }: { readonly isReplaced?: boolean } = {},
): HostileCase {
  return {
    name,
    what,
    node: "shared",
    arm: async (attack) => {
      const folder = attack.context.localSong.slice(0, attack.context.localSong.lastIndexOf("/"));
      const encoded = localTrack(identifier(folder));
      const greedy = attack.as("greedy");
      const hostile = await starts(greedy, encoded);
      const honest = await starts(attack.as("honest"), localTrack(attack.context.localSong));
      const strike = async () => {
        const answer = isReplaced ? await replacements(greedy, encoded) : summary([await hostile(), await hostile()]);
        await sleep(1500);
        return answer;
      };
      return () => beside(attack, { honest, expected: "plays", strike });
    },
  };
}

/** Its second line looks like one of a stack. */
function longPath(folder: string): string {
  return `${folder}/song\n at ${" (".repeat(LENGTH / 2)}`;
}

/** Each is replaced by the next while it still fails. */
async function replacements(greedy: Attack, encoded: string): Promise<string> {
  const bot = await greedy.session();
  const guildId = await greedy.join(bot);
  const song = localTrack(greedy.context.localSong);
  const statuses: string[] = [];
  for (let round = 0; round < 3; round++) {
    const both = [encoded, song].map((track) => greedy.patch(bot, guildId, { track: { encoded: track } }));
    statuses.push(...(await Promise.all(both)));
  }
  return `PATCH: ${summary(statuses)}`;
}

export const localFiles: HostileLayer = {
  layer: "local",
  cases: [
    playsLocal("local-long-path", "a local path of 18,000 characters that looks like a stack", longPath),
    playsLocal("local-long-path-replaced", "the same, replaced while it fails", longPath, { isReplaced: true }),
  ],
};
