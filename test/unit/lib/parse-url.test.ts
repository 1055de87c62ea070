import { expect, it } from "vitest";
import { parseUrl, serverOf } from "../../../src/lib/parse-url.ts";

it("parseUrl reads a URL, against a base or alone", () => {
  expect(parseUrl("http://radio.example/a?b#c")?.href).toBe("http://radio.example/a?b#c");
  expect(parseUrl("../b.ts", "http://radio.example/hls/a.m3u8")?.href).toBe("http://radio.example/b.ts");
  for (const text of ["", "b.ts", "http://", "http://1.2.3.4.5/", "http://[::1%25lo]/", "http://a:99999/"]) {
    expect(parseUrl(text), text).toBeUndefined();
  }
});

it("still knows hosts outside of ASCII after it has been called often", () => {
  let unknown = 0;
  for (let call = 0; call < 50_000; call++) if (parseUrl("http://b\u00fccher.example/") === undefined) unknown++;
  expect(unknown).toBe(0);
});

it.each([
  ["http://NAS.local:4533/rest?x", "nas.local:4533"],
  ["http://nas.local./", "nas.local:80"],
  ["https://user:word@music.example/base", "music.example:443"],
  ["https://music.example:80", "music.example:80"],
  ["http://[fd00::7]:8096/", "fd00::7:8096"],
  ["http://192.168.1.5", "192.168.1.5:80"],
  ["http://0xc0a80105:4533", "192.168.1.5:4533"],
])("the server of %s is %s", (address, server) => {
  expect(serverOf(new URL(address))).toBe(server);
});
