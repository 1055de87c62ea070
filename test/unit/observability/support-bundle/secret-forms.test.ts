import { describe, expect, test } from "vitest";
import { secretPattern, withoutSecrets } from "../../../../src/observability/support-bundle/secret-forms.ts";
import { formsOfSecret, KNOWN_SECRETS, leaksOf } from "../../../support/known-secrets.ts";

function clean(text: string, secrets: readonly string[]): string {
  return withoutSecrets(text, secretPattern(secrets));
}

describe("a known secret", () => {
  test.each(KNOWN_SECRETS.map((secret) => [secret]))(
    "%s is found in every form, in the middle of anything",
    (secret) => {
      for (const form of formsOfSecret(secret)) {
        const text = `before${form}behind, and "${form}" again`;
        expect(leaksOf(secret, text), form).not.toEqual([]);
        expect(leaksOf(secret, clean(text, KNOWN_SECRETS)), form).toEqual([]);
      }
    },
  );

  test("that is an address is found by its parts", () => {
    const secrets = ["http://ali%2Bce1:s3cr%40t-word@music.home.example:4533/private-path/rest?key=abcdef99"];
    for (const part of [
      "ali+ce1",
      "s3cr@t-word",
      "s3cr%40t-word",
      "MUSIC.home.example",
      "/private-path/rest",
      "abcdef99",
    ]) {
      expect(clean(`x ${part} y`, secrets), part).toBe("x <redacted> y");
    }
    expect(clean("a server on 127.0.0.1", ["http://127.0.0.1:4533/"])).toBe("a server on 127.0.0.1");
  });

  test("that is a list of cookies or of lines is found by each of them", () => {
    const secrets = ["SID=first-cookie; HSID=second-cookie\nthird line here"];
    for (const part of ["first-cookie", "second-cookie", "third line here"]) {
      expect(clean(`x ${part} y`, secrets), part).toBe("x <redacted> y");
    }
  });

  test("a secret that is too short to distinguish from other words is left", () => {
    expect(clean("a node", ["a", "", "  no "])).toBe("a node");
  });

  test("may hold anything that means something else in a pattern", () => {
    expect(clean("a(b|c)*[d]{2}$^.?+\\ x", ["(b|c)*[d]{2}$^.?+\\"])).toBe("a<redacted> x");
  });
});

test("without secrets a text stays as it is", () => {
  expect(clean("anything", [])).toBe("anything");
});
