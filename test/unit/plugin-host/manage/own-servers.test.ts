import { expect, it } from "vitest";
import { isOnOwnServer } from "../../../../src/plugin-host/manage/own-servers.ts";

const SERVERS = ["192.168.1.5:4533", "music.example:443", "fd00::7:8096"];

it.each([
  "http://192.168.1.5:4533/rest/stream.view?id=1",
  "http://user:word@0xc0a80105:4533/",
  "https://Music.example./base",
  "http://[FD00::7]:8096/Audio",
])("%s is on an own server", (address) => {
  expect(isOnOwnServer(address, SERVERS)).toBe(true);
  expect(isOnOwnServer(address, [])).toBe(false);
});

it.each([
  "http://192.168.1.5/",
  "http://192.168.1.5:4534/",
  "http://192.168.1.6:4533/",
  "http://music.example/",
  "https://music.example.evil.test/",
  "https://evil.test/https://music.example/",
  "https://music.example@evil.test/",
  "ftp://192.168.1.5:4533/",
  "no address",
])("%s is not on an own server", (address) => {
  expect(isOnOwnServer(address, SERVERS)).toBe(false);
});
