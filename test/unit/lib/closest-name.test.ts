import { expect, test } from "vitest";
import { closestName } from "../../../src/lib/closest-name.ts";

test.each([
  ["docter", ["start", "doctor"], "doctor"],
  ["strat", ["start", "doctor"], "start"],
  ["prot", ["port"], "port"],
  ["LAVALINK_SERVER_PASWORD", ["LAVALINK_SERVER_PASSWORD"], "LAVALINK_SERVER_PASSWORD"],
  ["SERVER_PLAYERUPDATEINTERVALL", ["SERVER_PLAYER_UPDATE_INTERVAL"], "SERVER_PLAYER_UPDATE_INTERVAL"],
  ["server.pasword.x", ["server.password.x", "server.passport.x"], "server.password.x"],
])("%s is taken for a misspelt one of %j", (written, names, closest) => {
  expect(closestName(written, names)).toBe(closest);
});

test.each([
  ["three letters", "docterrs", ["doctor"]],
  ["a short word", "kick", ["nico"]],
  ["a word of two letters", "xs", ["ws"]],
  ["a short word in a long path", "lavalink.server.sources.kick", ["lavalink.server.sources.nico"]],
  ["letters of several words", "servr.prt.ab", ["server.port.abc"]],
])("%s changed is another name", (_, written, names) => {
  expect(closestName(written, names)).toBeUndefined();
});
