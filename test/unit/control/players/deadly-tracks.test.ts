import { expect, test } from "vitest";
import { DeadlyTracks } from "../../../../src/control/players/deadly-tracks.ts";
import type { Track } from "../../../../src/track/track.ts";
import { buildTrack } from "../../../support/track-builder.ts";

function trackOf(identifier: string): Track {
  return buildTrack({ sourceName: "http", identifier });
}

test("however many tracks of one client crash workers, those of another are still known", () => {
  const deadly = new DeadlyTracks();
  deadly.add(trackOf("honest"), ["b", "b, 1"]);
  deadly.add(trackOf("honest client"), ["a", "a, 2"]);
  for (let count = 0; count < 2000; count++) deadly.add(trackOf(`greedy ${count}`), ["a", "a, 1"]);
  const known = ["honest", "honest client", "greedy 1", "greedy 1001", "greedy 1002", "greedy 1999"];
  expect(known.filter((identifier) => deadly.has(trackOf(identifier)))).toEqual([
    "honest",
    "honest client",
    "greedy 1002",
    "greedy 1999",
  ]);
});
