// Authorization: the password in `Authorization`, and the routes that need none.

import { checksOf } from "../workbench/check.ts";
import { expectMatch, someText } from "../workbench/expectation.ts";
import { expectError, expectStatus } from "../workbench/shapes.ts";

/** Every route of the protocol that needs the password. */
const ROUTES = [
  ["GET", "/v4/info"],
  ["GET", "/v4/stats"],
  ["GET", "/v4/loadtracks?identifier=x"],
  ["GET", "/v4/decodetrack?encodedTrack=x"],
  ["POST", "/v4/decodetracks"],
  ["PATCH", "/v4/sessions/x"],
  ["GET", "/v4/sessions/x/players"],
  ["GET", "/v4/sessions/x/players/1"],
  ["PATCH", "/v4/sessions/x/players/1"],
  ["DELETE", "/v4/sessions/x/players/1"],
  ["GET", "/v4/routeplanner/status"],
  ["POST", "/v4/routeplanner/free/address"],
  ["POST", "/v4/routeplanner/free/all"],
] as const;

export const authChecks = [
  ...ROUTES.flatMap(([method, path]) => {
    const route = `${method} ${path.split("?")[0]}`;
    return checksOf("auth", [
      [
        `${route} without a password is 401 and empty`,
        "sheet 1.2",
        async ({ http }) => {
          const reply = await http.request(method, path, { password: null });
          expectMatch([reply.status, reply.text], [401, ""], "status and body");
        },
      ],
      [
        `${route} with a wrong password is 403 and empty`,
        "sheet 1.2",
        async ({ http }) => {
          const reply = await http.request(method, path, { password: `${http.password}x` });
          expectMatch([reply.status, reply.text], [403, ""], "status and body");
        },
      ],
    ]);
  }),
  ...checksOf("auth", [
    ["the right password opens", "sheet 1.2", async ({ http }) => expectStatus(await http.get("/v4/info"), 200)],
    [
      "the password is compared with its case",
      "sheet 1.2",
      async ({ http }) => {
        const swapped = http.password.replace(/[a-z]/, (letter) => letter.toUpperCase());
        const password = swapped === http.password ? `${http.password}A` : swapped;
        expectStatus(await http.get("/v4/info", { password }), 403);
      },
    ],
    [
      "the password is sent without a scheme",
      "recording auth-bearer",
      async ({ http }) => expectStatus(await http.get("/v4/info", { password: `Bearer ${http.password}` }), 403),
    ],
    [
      "the beginning of the password is not enough",
      "sheet 1.2",
      async ({ http }) => expectStatus(await http.get("/v4/info", { password: http.password.slice(0, -1) }), 403),
    ],
    [
      "GET /version needs no password",
      "spec Authentication",
      async ({ http }) => {
        const reply = await http.get("/version", { password: null });
        expectMatch({ ...reply, status: reply.status }, { status: 200, text: someText }, "answer");
      },
    ],
    [
      "GET /version with the password answers too",
      "sheet 0.3 row 1",
      async ({ http }) => expectStatus(await http.get("/version"), 200),
    ],
    [
      "an unknown path is 404 also without a password",
      "sheet 1.2",
      async ({ http }) => expectError(await http.get("/v4/nope", { password: null }), 404, "No endpoint GET /v4/nope."),
    ],
    [
      "a wrong method is 405 with Allow also without a password",
      "sheet 1.2",
      async ({ http }) => {
        const reply = await http.request("PUT", "/v4/info", { password: null });
        expectError(reply, 405, "Method 'PUT' is not supported.");
        expectMatch(reply.headers.allow, someText, "Allow");
      },
    ],
  ]),
];
