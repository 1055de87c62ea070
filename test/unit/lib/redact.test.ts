import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../lab/seeded-random.ts";
import { toWireError } from "../../../src/bridge/wire-error.ts";
import { NodeError } from "../../../src/errors.ts";
import { REDACTED, redactText } from "../../../src/lib/redact-text.ts";
import { redactFields } from "../../../src/lib/redact-value.ts";
import { fuzzSeed } from "../../support/fuzz-seed.ts";
import { buildTrack } from "../../support/track-builder.ts";

const S = "hunter2hunter2";
const TRACK_WITH_SECRET = buildTrack({ identifier: `http://host/?token=${S}` });

function shown(value: unknown): string {
  const fields = redactFields({ value });
  return `${JSON.stringify(fields)} ${inspect(fields, { depth: 20, maxStringLength: null, maxArrayLength: null })}`;
}

function escaped(text: string): string {
  return Array.from(text, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
}

function unreadable(): object {
  return Object.defineProperty({ token: S }, "bad", {
    enumerable: true,
    get: () => {
      throw new Error(S);
    },
  });
}

test.each([
  ["on separate lines", "\n"],
  ["on one line", " "],
  ["escaped", "\\n"],
])("a private key in PEM is not shown, %s", (_, lineBreak) => {
  for (const kind of ["", "EC ", "RSA ", "ENCRYPTED "]) {
    const key = [`-----BEGIN ${kind}PRIVATE KEY-----`, S.repeat(4), S, `-----END ${kind}PRIVATE KEY-----`];
    const text = ["before", ...key, "behind"].join(lineBreak);
    expect(redactText(text)).toBe(["before", REDACTED, "behind"].join(lineBreak));
    expect(redactText(text.slice(0, text.indexOf("-----END")))).not.toContain(S);
  }
  expect(redactText("-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----")).toContain("MII");
});

describe("an address loses its password", () => {
  test.each([
    `http://u:${S}@host/path`,
    `http:\\/\\/u:${S}@host/path`,
    `http:\\\\/\\\\/u:${S}@host/path`,
    `http:\\\\u:${S}@host/path`,
    `http:/u:${S}@host/path`,
    `http:u:${S}@host/path`,
    `HTTPS:////u:${S}@host/path`,
    `//u:${S}@host/path`,
    `http://u:p@${S}@host/path`,
    `http://u:${S}@ss@host/path`,
    `http://u:@${S}/x@host/path`,
    `http://u:1/${S}@host/path`,
    `http://u:a b ${S}@host/path`,
    `http://u:a"b'${S}@host/path`,
    `http://u:a?${S}#b@host/path`,
    `http://${S}@host/path`,
    `http://:${S}@host/path`,
    `http://u%3A${S}@host/path`,
    `http%3A%2F%2Fu%3A${S}%40host%2Fpath`,
    `http%253A%252F%252Fu%253A${S}%2540host%252Fpath`,
    `http:\\u002f\\u002fu:${S}\\u0040host/path`,
    `http:\\x2f\\x2fu:${S}\\x40host/path`,
    `"http:\\\\\\/\\\\\\/u:${S}@host/path"`,
    `http://1.2.3.4:80/ and ws://u:${S}@host/path`,
    `dial u:${S}@host/path`,
    `socks5://u:${S}@host/path`,
    `http:\t//u:${S}@host/path`,
    `ht\ntp://u:${S}@host/path`,
    `/v4/loadtracks?identifier=http%3A%2F%2Fu%3A${S}%40host%2Fpath`,
  ])("%s", (text) => {
    const clean = redactText(`before ${text} behind`);
    expect(clean).not.toContain(S);
    expect(clean).toMatch(/before .*<redacted>@host(\/|%2F|%252F|\\\/|\\\\\/)path.* behind/s);
  });

  test.each([
    "http://host.example/@user/video",
    "https://host.example:8443/path/@2x.png",
    "http://localhost:2333/a@b",
    "http://[::1]:2333/a@b",
    "file:///app/node_modules/@snazzah/davey/index.js:10:5",
    "C:\\Users\\me\\a@b",
    "mail me@host.example",
    'it said "http://host" to me@host.example',
  ])("%s has none", (text) => {
    expect(redactText(text)).toBe(text);
  });
});

describe("a text loses", () => {
  test.each([
    `?token=${S}`,
    `&access_token=${S}&x=1`,
    `?%74oken=${S}`,
    `?a=1&amp;sig=${S}`,
    `#id_token=${S}`,
    `?auth[token]=${S}`,
    `?X-Amz-Signature=${S}&X-Amz-Credential=${S}/eu&x=1`,
    `https://r1---sn.example/videoplayback?expire=1&sig=${S}&lsig=${S}&key=${S}`,
    `https://r1---sn.example/hls/expire/1/sig/${S}/lsig/${S}/file.ts`,
    `GET /youtube/oauth/1//0${S}`,
    `GET /youtube/oauth/1%2F%2F0${S}?trace=true`,
    `https://cdn.example/a?hdnea=exp=1~acl=/*~hmac=${S}`,
    `https://cdn.example/a?unheard=0123456789abcdef0123456789${S}`,
    `?redirect=${encodeURIComponent(encodeURIComponent(`/x?token=${S}`))}`,
    `{"token":"${S}"}`,
    `{"\\u0074oken":"${S}"}`,
    `{"${escaped("token")}" : "a\\"${S}"}`,
    `{"token":{"a":"}${S}","b":["${S}"]},"c":1}`,
    `{"token":["${S}","${S}"]}`,
    `{"voice":{"sessionId":"${S}"}}`,
    `{"session_id":"${S}"}`,
    `{"a":"{\\"token\\":\\"b\\\\\\"${S}\\"}"}`,
    `{"secret":"${escaped(S)}","x":"${S.slice(0, 0)}"}`,
    `5" wide {"password":"${S}"}`,
    `{"token":"cut ${S}`,
    `{ token: '${S}', a: 1 }`,
    `Map(1) { 'token' => '${S}' }`,
    `["Authorization","${S}"]`,
    `Authorization: ${S} ${S}`,
    `Proxy-Authorization: Basic ${S}`,
    `cookie: a=${S}; b=${S}`,
    `Set-Cookie: sid=${S}; Path=/`,
    `sent Bearer ${S}`,
    `password=${S}`,
    `password: ${S}`,
    `token="${S}"`,
    `Location: https://host/x?token=${S}`,
    `${buildTrack({ uri: `http://u:${S}@host/` }).encoded}`,
    `GET /v4/decodetrack?encodedTrack=${encodeURIComponent(TRACK_WITH_SECRET.encoded)}`,
    `x/${buildTrack({ artworkUrl: `http://u:${S}@host/` })
      .encoded.replaceAll("+", "-")
      .replaceAll("/", "_")}`,
    Buffer.from(Buffer.from(`http://u:${S}@host/ is here`).toString("base64")).toString("base64"),
  ])("%s", (text) => {
    const clean = redactText(text);
    expect(clean).toContain(REDACTED);
    expect(clean).not.toContain(S);
    expect(clean).not.toContain(escaped(S));
    expect(decoded(clean)).not.toContain(S);
  });

  test("a text loses nothing that is not secret", () => {
    for (const text of [
      "answered GET /v4/loadtracks?identifier=ytsearch:never gonna",
      '{"timeout":5,"tokenless":null,"token":null,"isPassword":true,"volume":100}',
      "application.yml:3:9: lavalink.server.password: the well-known password is used",
      `track ${buildTrack().encoded}`,
      "key of the map",
      "session abc (resumed)",
    ]) {
      expect(redactText(text)).toBe(text);
    }
  });
});

describe("a value loses", () => {
  class Hidden {
    readonly #inner = { deep: { token: S } };
    toJSON(): object {
      return this.#inner;
    }
  }
  const cause = new Error(`http://a:${S}@b/`, { cause: { token: S, note: `?sig=${S}` } });
  const values: Record<string, unknown> = {
    "members by their names": { accessToken: S, a: { "set-cookie": [S] }, authorization: S, "Proxy-Authorization": S },
    "numbers under such a name": { token: Number(S.replaceAll(/\D/g, "")) + 123_456_789 },
    "what toJSON gives": new Hidden(),
    "what toJSON gives as text": { toJSON: () => `http://u:${S}@host/` },
    "members of a Map": new Map<unknown, unknown>([
      ["token", S],
      ["a", new Map([["sig", S]])],
    ]),
    "names in a Map": new Map([[`http://u:${S}@host/`, 1]]),
    "items of a Set": new Set([`http://u:${S}@host/`]),
    "queries and headers": [
      new URLSearchParams({ token: S }),
      new Headers({ cookie: S }),
      new URL(`http://u:${S}@h/?sig=${S}`),
    ],
    "raw headers": ["Host", "x", "Authorization", S],
    pairs: [["cookie", S]],
    bytes: [Buffer.from(S), new TextEncoder().encode(S), new TextEncoder().encode(S).buffer],
    "beside a getter that throws": unreadable(),
    "a proxy that throws": new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error(S);
        },
      },
    ),
    "a toJSON that throws": {
      toJSON: () => {
        throw new Error(S);
      },
    },
    causes: new Error("outer", { cause }),
    "causes that are not errors": new Error("outer", { cause: { password: S } }),
    "gathered errors": new AggregateError([cause, `?token=${S}`], "many"),
    codes: Object.assign(new Error("x"), { code: `http://u:${S}@host/` }),
    "voice servers": { voice: { endpoint: "e", sessionId: S } },
    "texts in boxes": Object(`?token=${S}`),
    symbols: Symbol(`?token=${S}`),
    "names of members": { [`http://u:${S}@host/`]: 1 },
  };

  test.each(Object.entries(values))("%s", (_, value) => {
    const text = shown(value);
    expect(text).not.toContain(S);
    expect(text).not.toContain(Buffer.from(S).join());
    expect(text).toMatch(/redacted|bytes|unreadable/);
  });

  test("a value loses nothing that is not secret, and is not modified", () => {
    const plain = {
      sessionId: "ours",
      port: 1,
      list: [1, "a", null],
      isTokenSet: true,
      at: new Date(0),
      nothing: undefined,
    };
    expect(redactFields(plain)).toEqual({ ...plain, at: "1970-01-01T00:00:00.000Z" });
  });

  test("a value that is too wide, deep or long is cut", () => {
    const wide = Object.fromEntries(
      Array.from({ length: 100_000 }, (_, index) => [`k${index}`, { a: "x".repeat(1000) }]),
    );
    let deep: object = {};
    for (let level = 0; level < 10_000; level++) deep = { deep };
    expect(JSON.stringify(redactFields({ wide, deep, long: "x".repeat(10_000_000) })).length).toBeLessThan(400_000);
  });
});

test("errors for clients contain no secrets of the addresses they name", () => {
  const root = new Error(`connect http://u:${S}@host/?sig=${S}`);
  const wire = toWireError(new NodeError("input-unreachable", `could not reach http://u:${S}@host/`, { cause: root }));
  expect(JSON.stringify(wire)).not.toContain(S);
  expect(wire.message).toBe("could not reach http://<redacted>@host/");
});

test("a cut text never ends in half of a secret", () => {
  for (let length = 16_384 - 40; length < 16_384 + 5; length++) {
    const text = `${"word ".repeat(4000).slice(0, length)} http://u:${S}@host/`;
    expect(redactText(text)).not.toContain(S.slice(0, 3));
  }
  const long = new NodeError("input-unreachable", `could not reach http://host/${"a:".repeat(30_000)}`);
  expect(toWireError(long).message.length).toBeLessThan(4096);
  expect(toWireError(long).causeStackTrace.length).toBeLessThan(4096);
});

test("random secrets in random carriers within carriers are removed", () => {
  const random = seededRandom(fuzzSeed());
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!; // never empty
  const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  const word = (): string => `${Array.from({ length: 9 }, () => pick([...letters])).join("")}7`;
  const carriers: ((text: string) => string)[] = [
    (text) => JSON.stringify({ a: text }),
    (text) => JSON.stringify(text).replaceAll("/", "\\/"),
    (text) => `it failed: ${text}`,
    (text) => `http://host/?next=${encodeURIComponent(text)}`,
    (text) => encodeURIComponent(text),
    (text) => escaped(text),
    (text) => buildTrack({ uri: text }).encoded,
    (text) => Buffer.from(`padding ${text} padding`).toString("base64url"),
    (text) => inspect({ text }),
    (text) => `\u001b[31m${text}\u001b[0m`,
  ];
  for (let run = 0; run < 3000; run++) {
    const [first, second] = [word(), word()];
    const secret = `${first}${pick(["@", ":", "", "-", "%40", "!", "$"])}${second}`;
    const core = pick([
      `http://user:${secret}@host.example/x`,
      `wss://${secret}@host.example`,
      `https://host.example/x?token=${secret}&a=1`,
      `{"token":"${secret}"}`,
      `Authorization: Bearer ${secret}`,
      `{"voice":{"token":"${secret}","endpoint":"x"}}`,
    ]);
    const [inner, outer] = [pick(carriers), pick(carriers)];
    const text = pick([core, outer(core), outer(inner(core))]);
    const clean = redactText(text);
    let plain = clean;
    for (let level = 0; level < 3; level++) plain = decoded(plain);
    for (const part of [first, second]) expect(plain.includes(part), `${text}\n${clean}`).toBe(false);
  }
});

/** One level of every escape undone. */
function decoded(text: string): string {
  return text
    .replaceAll(/%([0-9a-f]{2})|\\u00([0-9a-f]{2})/gi, (_, percent, unicode) =>
      String.fromCharCode(Number.parseInt(percent ?? unicode, 16)),
    )
    .replaceAll(/[A-Za-z0-9+/_-]{24,}={0,2}/g, (run) => `${run} ${Buffer.from(run, "base64").toString("latin1")}`);
}

describe.each([1, 4, 10, 5000])("%i blanks do not hide a secret", (count) => {
  test.each([" ", "\t", "\n", "\r\n", "\\t", "\\n", "\\u0020", "\\u0009", "%20", "%09"])("blanks as %j", (blank) => {
    const gap = blank.repeat(Math.min(count, Math.floor(10_000 / blank.length)));
    for (const text of [
      `{"token"${gap}:${gap}"${S}"}`,
      `{\\"token\\"${gap}:${gap}\\"${S}\\"}`,
      `token${gap}:${gap}"${S}"`,
      `token:${gap}${S}`,
    ]) {
      expect(redactText(text)).not.toContain(S);
    }
    if (blank.length > 1) return;
    expect(redactText(`Authorization:${gap}${S}`)).not.toContain(S);
    expect(redactText(`Bearer${gap}${S}`)).not.toContain(S);
  });

  test("a text without a secret keeps its blanks", () => {
    const gap = " ".repeat(count);
    const text = `{"name"${gap}:${gap}"x"}\n\tC:\\new\\table`;
    expect(redactText(text)).toBe(text);
  });
});

test("redacting a text that is crafted to be slow takes linear time", () => {
  const pieces = [
    "//",
    "a:",
    "@",
    "http:",
    "\\",
    '"',
    "{",
    "[",
    "token=",
    "%25",
    "=",
    "'",
    "/",
    "a",
    "Bearer ",
    "\\u0074",
    " ",
    "A-",
    "[a]",
    ":",
    "\\t",
  ];
  // A run of blanks is searched from each name before it.
  for (const name of ["[]", "a", '"a"', "x-token", "Bearer"]) redactText(name.repeat(200) + " ".repeat(15_000));
  for (const piece of pieces) {
    for (const end of ["", "@", '"', "="]) redactText(piece.repeat(Math.floor(16_000 / piece.length)) + end);
  }
  for (const [left, right] of pieces.flatMap((a) => pieces.map((b) => [a, b]))) {
    redactText(`${left}${right}`.repeat(Math.floor(16_000 / (left!.length + right!.length))));
  }
});
