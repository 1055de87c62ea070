import { describe, expect, test } from "vitest";
import {
  ANSWER_SIZE_MAX_BYTES,
  type ForwardedAnswer,
  type ForwardedRequest,
  readAnswer,
  readRequest,
  writeAnswer,
  writeRequest,
} from "../../../../src/control/server/forwarded-form.ts";

const REQUEST: ForwardedRequest = {
  method: "PATCH",
  path: "/v4/sessions/:sessionId/players/:guildId",
  segments: { sessionId: "a\nb", guildId: "1" },
  target: "/v4/sessions/a%0Ab/players/1?noReplace=true",
  headers: { accept: "*/*", "content-type": "application/json", "user-agent": "bot/1" },
  key: "bot",
  address: "2001:db8::1",
  body: '{\n"userData": {"id": 12345678901234567890}}\n\u2028',
};

const ANSWERS: readonly ForwardedAnswer[] = [
  { kind: "moved" },
  { kind: "answered", status: 204, headers: {}, body: undefined },
  { kind: "answered", status: 200, headers: {}, body: Buffer.alloc(0) },
  {
    kind: "answered",
    status: 503,
    headers: { "Retry-After": "2", "Content-Type": "application/json" },
    body: Buffer.from('{"a":\n12345678901234567890,"b":"ä\u2028"}'),
  },
];

describe("what machines send each other", () => {
  test("a request arrives as it was sent, its body letter by letter", () => {
    expect(readRequest(writeRequest(REQUEST))).toEqual(REQUEST);
    const plain = { ...REQUEST, headers: {}, key: null, body: "" };
    expect(readRequest(writeRequest(plain))).toEqual(plain);
  });

  test("an answer arrives as it was sent, without a body or with an empty one", () => {
    for (const answer of ANSWERS) expect(readAnswer(writeAnswer(answer))).toEqual(answer);
  });

  test("the line of a request holds no header but those that routes look at", () => {
    const [head = ""] = writeRequest(REQUEST).split("\n", 1);
    expect(Object.keys(JSON.parse(head))).toEqual([
      "method",
      "path",
      "segments",
      "target",
      "headers",
      "key",
      "address",
    ]);
  });
});

/** A request with these members in its line. */
function requestWith(members: object): string {
  const { body, ...head } = REQUEST;
  return `${JSON.stringify({ ...head, ...members })}\n${body}`;
}

function answerWith(members: object): string {
  return `${JSON.stringify({ kind: "answered", status: 200, headers: {}, hasBody: false, ...members })}\n`;
}

describe("what another machine should not send", () => {
  test.each<[string, string]>([
    ["an empty text", ""],
    ["a text of one line", "{}"],
    ["a line that is not JSON", "{\n"],
    ["a line with a number", "7\n"],
    ["a line without members", "{}\n"],
    ["deep JSON", `${"[".repeat(100_000)}\n`],
    ["a line that is too long", `${" ".repeat(200_000)}{}\n`],
    ["a body that is too long", `${writeRequest(REQUEST)}${" ".repeat(4 * 1024 * 1024)}`],
    ["a method that is none", requestWith({ method: "GET /" })],
    ["segments that are no texts", requestWith({ segments: { sessionId: 1 } })],
    ["a segment of a name that is none", requestWith({ segments: { "a.b": "x" } })],
    [
      "too many segments",
      requestWith({ segments: Object.fromEntries([..."abcdefghijklmnopq"].map((name) => [name, ""])) }),
    ],
    ["a target that is too long", requestWith({ target: "/".repeat(20_000) })],
    ["a header that is a list", requestWith({ headers: { accept: ["*/*"] } })],
    ["a line without the client's key, which would be the password", requestWith({ key: undefined })],
    ["a key that is no text", requestWith({ key: false })],
    ["an address that is no text", requestWith({ address: 7 })],
  ])("as a request, %s is refused", (_what, text) => {
    expect(() => readRequest(text)).toThrow(/^the request of another machine of the cluster cannot be read: /);
  });

  test("a segment by the name of the prototype is dropped", () => {
    const segments: object = JSON.parse('{"__proto__":"x","guildId":"1"}');
    expect(readRequest(requestWith({ segments })).segments).toEqual({ guildId: "1" });
  });

  test.each<[string, string]>([
    ["an empty text", ""],
    ["a kind that is none", answerWith({ kind: "other" })],
    ["a status below 200", answerWith({ status: 101 })],
    ["a status above 599", answerWith({ status: 600 })],
    ["a status with a fraction", answerWith({ status: 200.5 })],
    ["a header with a line break", answerWith({ headers: { Allow: "a\r\nSet-Cookie: b" } })],
    ["a header name with a colon", answerWith({ headers: { "Allow:": "a" } })],
    ["a header about the connection", answerWith({ headers: { "content-LENGTH": "5" } })],
    ["another header about the connection", answerWith({ headers: { "Transfer-Encoding": "chunked" } })],
    ["a header that is a list", answerWith({ headers: { Allow: ["a"] } })],
    ["a line that says nothing of a body", answerWith({ hasBody: undefined })],
    ["a body that is too long", answerWith({ hasBody: true }) + " ".repeat(ANSWER_SIZE_MAX_BYTES + 1)],
  ])("as an answer, %s is refused", (_what, text) => {
    expect(() => readAnswer(text)).toThrow(/^the answer of another machine of the cluster cannot be read: /);
  });
});
