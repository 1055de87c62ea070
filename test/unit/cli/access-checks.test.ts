import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { accessChecks, checkTls } from "../../../src/cli/doctor/access-checks.ts";
import { loadConfig } from "../../../src/config/load-config.ts";
import { hashOf } from "../../../src/control/access/client-key.ts";
import { Certificates } from "../../support/certificates.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
let certificates: Certificates;

beforeAll(() => {
  certificates = new Certificates();
  certificates.make("one", { days: 30 });
  certificates.store("one", "x");
});
afterAll(() => certificates.remove());

function serverOf(...args: string[]) {
  return loadConfig({ args, env: {}, cwd: certificates.folder, readFile: () => undefined }).config.server;
}

const PEM = ["--server.ssl.certificate=one.crt", "--server.ssl.certificate-private-key=one.key"];

test("there is no TLS or key check when neither is configured", () => {
  expect(accessChecks(serverOf())).toEqual([]);
  expect(accessChecks(serverOf(...PEM, "--tonearm.keys.file=keys.yml")).map(({ name }) => name)).toEqual([
    "TLS",
    "client keys",
  ]);
});

test.each([
  ["PEM", PEM],
  ["a PKCS#12", ["--server.ssl.key-store=one.p12", "--server.ssl.key-store-password=x"]],
])("a certificate in %s is good, soon not any more, and then not", async (_, args) => {
  const { tls } = serverOf(...args);
  const seen = (days: number) => checkTls(tls!, Date.now() + days * DAY_MS);
  expect(await seen(1)).toMatchObject({ status: "ok", found: expect.stringContaining("CN=one") });
  expect(await seen(20)).toMatchObject({ status: "warn", advice: expect.stringContaining("soon") });
  expect([(await seen(40)).status, (await seen(-2)).status]).toEqual(["fail", "fail"]);
});

test("what cannot be used fails with the key that names it", async () => {
  const { tls } = serverOf("--server.ssl.key-store=one.p12", "--server.ssl.key-store-password=y");
  expect(await checkTls(tls!, Date.now())).toMatchObject({
    status: "fail",
    found: "server.ssl.key-store: its password is wrong",
  });
});

test("the check of client keys lists their names", async () => {
  const [check] = accessChecks(serverOf("--tonearm.keys.file=keys.yml"));
  expect(await check?.run()).toMatchObject({ status: "warn", found: expect.stringContaining("keys.yml yet") });
  writeFileSync(certificates.path("keys.yml"), `bot:\n  hashes: [${hashOf("x")}]\n`);
  expect(await check?.run()).toEqual({ status: "ok", found: "bot" });
  writeFileSync(certificates.path("keys.yml"), "bot: x\n");
  expect(await check?.run()).toMatchObject({ status: "fail", found: expect.stringContaining("keys.yml:1:6") });
});
