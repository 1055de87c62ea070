import { expect, test } from "vitest";
import { FailedLogins, type Sender } from "../../../../src/control/access/failed-logins.ts";
import { silentLogger } from "../../../../src/log/log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const CLIENTS_MAX = 10_000;

function connection(remotePort: number): Sender {
  const socket = { remoteAddress: "127.0.0.1", remotePort, once: () => undefined, off: () => undefined };
  return { headers: {}, socket: socket as unknown as Sender["socket"] };
}

test("a connection in use passes the line, however many others its address has opened since it began", () => {
  const limits = { countMax: 10, forgivenMs: 1000, delayMs: 100 };
  const logins = new FailedLogins<string>({
    ...limits,
    clock: new FakeClock(),
    logger: silentLogger,
    message: "too many",
  });
  const kept = connection(1);
  const right = (): string => "right";
  for (let port = 2; port < 1.2 * CLIENTS_MAX; port++) {
    if (port % (CLIENTS_MAX / 2) === 0 || port === 2) logins.try(kept, right);
    logins.try(connection(port), right);
  }
  for (let count = 0; count < limits.countMax; count++) logins.try(connection(0), () => undefined);
  expect(logins.try(connection(-1), right)).toBeInstanceOf(Promise);
  expect(logins.try(kept, right)).toBe("right");
});
