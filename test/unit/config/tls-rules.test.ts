import { describe, expect, test } from "vitest";
import { loadConfig } from "../../../src/config/load-config.ts";

function load(lines: readonly string[]) {
  const text = ["server:", "  ssl:", ...lines.map((line) => `    ${line}`)].join("\n");
  const readFile = (path: string) => (path === "/srv/node/application.yml" ? text : undefined);
  return loadConfig({ args: [], env: {}, cwd: "/srv/node", readFile });
}

const PEM = ["certificate: tls/cert.pem", "certificate-private-key: /etc/key.pem"];

describe("server.ssl, as Spring users know it", () => {
  test("PEM in files, relative ones from where the node is started", () => {
    const { tls } = load(PEM).config.server;
    expect(tls).toMatchObject({
      material: {
        kind: "pem",
        certificate: { kind: "file", path: "/srv/node/tls/cert.pem" },
        privateKey: { kind: "file", path: "/etc/key.pem" },
      },
      clientAuth: "none",
      trust: undefined,
      minVersion: "TLSv1.2",
      maxVersion: "TLSv1.3",
    });
  });

  test("its relaxed spelling, and file: in front", () => {
    const { tls } = load(["keyStore: file:keys.p12", "keyStorePassword: hush"]).config.server;
    expect(tls?.material).toMatchObject({ kind: "pkcs12", path: "/srv/node/keys.p12" });
    expect(load(["key-store: file:///etc/keys.p12"]).config.server.tls?.material).toMatchObject({
      path: "/etc/keys.p12",
    });
    expect(JSON.stringify(tls)).not.toContain("hush");
  });

  test("texts are secrets", () => {
    const { tls } = load(["certificate: -----BEGIN A-----", "certificate-private-key: -----BEGIN B-----"]).config
      .server;
    expect(tls?.material).toMatchObject({ certificate: { kind: "text" }, privateKey: { kind: "text" } });
    expect(JSON.stringify(tls)).not.toContain("BEGIN");
  });

  test("without a certificate, or switched off, HTTP is served", () => {
    expect(load(["enabled: true"]).config.server.tls).toBeUndefined();
    expect(load([...PEM, "enabled: false"]).config.server.tls).toBeUndefined();
    const { config, warnings } = load(["certificate-private-key: key.pem"]);
    expect([config.server.tls, warnings]).toEqual([undefined, [expect.stringContaining("HTTP is served")]]);
  });

  test.each([
    [["certificate: cert.pem"], "server.ssl.certificate: expected server.ssl.certificate-private-key as well"],
    [[...PEM, "key-store: a.p12"], "server.ssl.key-store: server.ssl.certificate is set as well"],
    [["key-store: a.jks", "key-store-type: JKS"], "server.ssl.key-store-type: a JKS cannot be read"],
    [["key-store: classpath:a.p12"], "server.ssl.key-store: there is nothing within Tonearm's program"],
    [[...PEM, "client-auth: need"], "server.ssl.client-auth: expected server.ssl.trust-certificate as well"],
    [[...PEM, "enabled-protocols: [TLSv1]"], "expected one of TLSv1.2, TLSv1.3"],
    [[...PEM, "enabled-protocols: []"], "server.ssl.enabled-protocols: expected at least one version"],
  ])("%j stops the start", (lines, message) => {
    expect(() => load(lines)).toThrow(message);
  });

  test("server.ssl keys without effect are reported", () => {
    expect(load([...PEM, "ciphers: TLS_RSA_WITH_AES_128_CBC_SHA"]).warnings.join()).toContain("server.ssl.ciphers");
    expect(load([...PEM, "key-alias: tomcat"]).notes.join()).toContain("server.ssl.key-alias");
  });
});
