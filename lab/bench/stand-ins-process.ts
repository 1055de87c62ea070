// The fake servers for all sites and for the example plugin, which stays healthy, in a separate process so that their
// work is neither the node's nor the listener's. Started by stand-ins.ts, which talks to it over IPC.

import { AllSites } from "../sites/all-sites.ts";
import { EXAMPLE_HOST, startExampleSite } from "../sites/example.ts";
import { answering } from "../test-environment/side-process.ts";
import type { StandInsRequest } from "./stand-ins.ts";

const FIRST_TRACK_ID = 10_000;
const SET_ID = 999_999;

const sites = await AllSites.start();
const example = await startExampleSite();
let restore = (): void => undefined;

function answer(request: StandInsRequest): unknown {
  switch (request.kind) {
    case "args":
      return [...sites.args, `--tonearm.hosts.${EXAMPLE_HOST}=${example.url}/${EXAMPLE_HOST}`];
    case "hang":
      restore = sites.hang();
      return undefined;
    case "answerAgain":
      restore();
      return undefined;
    case "addSet":
      return addSet(request.tracks);
    case "close":
      return sites.close();
    default:
      return request satisfies never;
  }
}

function addSet(tracks: number): string {
  const ids = Array.from({ length: tracks }, (_, index) => FIRST_TRACK_ID + index);
  for (const id of ids) sites.each.soundcloud.addTrack(id, `track-${id}`);
  const address = `https://soundcloud.com/stand-ins/sets/many-${tracks}`;
  sites.each.soundcloud.addSet(address, SET_ID, ids);
  return address;
}

answering(answer);
