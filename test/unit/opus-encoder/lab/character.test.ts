import { expect, test } from "vitest";
import { type Character, characterOf, classesOf } from "../../../../opus-encoder/lab/character.ts";
import { EarModel, type Stereo } from "../../../../opus-encoder/lab/ear-model.ts";
import { Painter } from "../../../../opus-encoder/lab/similarity.ts";
import { beatSong, chordSong, noiseSong } from "../../../support/judged-songs.ts";

function characterOfSong(song: Stereo): Character {
  return characterOf(song, new EarModel().listen(song)[0], new Painter().paint(song));
}

test("a chord is tonal, noise is dense, beats are transient", () => {
  expect(classesOf(characterOfSong(chordSong(1)))).toEqual(["tonal"]);
  expect(classesOf(characterOfSong(noiseSong(1)))[0]).toBe("dense");
  expect(classesOf(characterOfSong(beatSong(1)))[0]).toBe("transient");
});

test("beats are counted", () => {
  const { attacksPerSecond } = characterOfSong(beatSong(4));
  expect(attacksPerSecond).toBeGreaterThan(4);
  expect(attacksPerSecond).toBeLessThan(6);
});

test("two sides that have nothing in common are wide, the same signal on both is not", () => {
  const [one, other] = [noiseSong(1)[0], chordSong(1)[0]];
  expect(classesOf(characterOfSong([one, other.map((value) => value * 0.3)]))).toContain("wide");
  const { sideShare } = characterOfSong([one, one]);
  expect(sideShare).toBeLessThan(1e-6);
});

test("an attenuated excerpt is quiet, and otherwise keeps its character", () => {
  expect(classesOf(characterOfSong(chordSong(1, 0.05)))).toEqual(["tonal", "quiet"]);
});
