// Strangers' sites that refuse requests of a node with a route planner: they must not use up the addresses of others.

import { wav } from "../../media-files/containers.ts";
import { sleep } from "../../sleep.ts";
import { type Attack, summary } from "../harness/attack.ts";
import { beside } from "../harness/beside.ts";
import type { HostileCase, HostileLayer } from "../harness/hostile-case.ts";

const LOADS_EACH = 12;
const SONG = wav({ rateHz: 8000, data: new Uint8Array(16_000).map((_, index) => (index * 31) & 0x3f) });
const REFUSED = "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const ANSWERED = `HTTP/1.1 200 OK\r\nContent-Type: audio/wav\r\nContent-Length: ${SONG.length}\r\nConnection: close\r\n\r\n`;

/** So many sites of strangers, each at another address; `isRefused` by the number of the request. */
function refusals(
  name: string,
  what: string,
  { sites, isRefused }: { readonly sites: number; readonly isRefused: (request: number) => boolean },
): HostileCase {
  return {
    name,
    what,
    node: "routed",
    arm: async (attack) => {
      const song = attack.serveFile("honest.wav", SONG);
      const [honest, greedy] = [attack.as("honest"), attack.as("greedy")];
      const urls = await Promise.all(
        Array.from({ length: sites }, (_, index) => {
          let requests = 0;
          return attack.serveRaw(
            (socket) => {
              if (isRefused(requests++)) {
                socket.end(REFUSED);
                return;
              }
              socket.write(ANSWERED);
              socket.end(SONG);
            },
            "song.wav",
            `127.0.1.${index + 1}`,
          );
        }),
      );
      const strike = async () => {
        const answers: string[] = [];
        for (let round = 0; round < LOADS_EACH; round++) {
          // One after the other: each begins at the addresses that those before have left.
          for (const url of urls) answers.push(await greedy.load(`${url}?round=${round}`));
        }
        await sleep(1000);
        return `${await barred(attack)}; ${summary(answers)}`;
      };
      return () =>
        beside(attack, { honest: (number) => honest.load(`${song}?n=${number}`), expected: "load: track", strike });
    },
  };
}

async function barred(attack: Attack): Promise<string> {
  const { json } = await attack.http.get("/v4/routeplanner/status");
  return `${json?.details?.failingAddresses?.length ?? "no"} addresses are barred somewhere`;
}

export const routes: HostileLayer = {
  layer: "route",
  cases: [
    refusals("routes-429-hosts", "eight sites that answer every address with 429", {
      sites: 8,
      isRefused: () => true,
    }),
    refusals("routes-429-alternating", "two sites that answer every other request with 429", {
      sites: 2,
      isRefused: (request) => request % 2 === 1,
    }),
  ],
};
