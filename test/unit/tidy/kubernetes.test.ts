// The Kubernetes manifests in deploy/kubernetes: valid by the API's schemas without an unknown field, whatever they name
// exists, and they fit what the node does. `kubectl kustomize` puts them together where it is installed.

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";
import { loadConfig } from "../../../src/config/load-config.ts";
import { findByVariable } from "../../../src/config/reading/key-names.ts";
import { PROJECT_ROOT } from "../../support/project-files.ts";

const FOLDER = join(PROJECT_ROOT, "deploy/kubernetes");
/** What `tonearm drain` waits for its answer beyond its deadline, and the node takes to close: src/cli/start.ts. */
const CLOSE_SECONDS_MAX = 10 + 12;
const IMAGE_USER = 10_001;

const SCHEMA_OF: Readonly<Record<string, string>> = {
  "v1 ConfigMap": "io.k8s.api.core.v1.ConfigMap",
  "v1 Namespace": "io.k8s.api.core.v1.Namespace",
  "v1 Service": "io.k8s.api.core.v1.Service",
  "apps/v1 StatefulSet": "io.k8s.api.apps.v1.StatefulSet",
  "networking.k8s.io/v1 NetworkPolicy": "io.k8s.api.networking.v1.NetworkPolicy",
  "policy/v1 PodDisruptionBudget": "io.k8s.api.policy.v1.PodDisruptionBudget",
};

type Labels = Readonly<Record<string, string>>;
type NamedPort = { readonly name: string; readonly containerPort: number };
interface Container {
  readonly image: string;
  readonly ports: readonly NamedPort[];
  readonly envFrom?: readonly { readonly secretRef: { readonly name: string } }[];
  readonly env?: readonly {
    readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string; readonly key: string } };
  }[];
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly volumeMounts: readonly { readonly name: string; readonly subPath?: string }[];
}
/** What the tests below read of any object. */
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly selector: Labels & { readonly matchLabels: Labels };
    readonly podSelector: { readonly matchLabels: Labels };
    readonly ingress: readonly {
      readonly from?: readonly { readonly podSelector: { readonly matchLabels: Labels } }[];
    }[];
    readonly ports: readonly { readonly port: number; readonly targetPort?: string | number }[];
    readonly publishNotReadyAddresses?: boolean;
    readonly serviceName: string;
    readonly replicas: number;
    readonly volumeClaimTemplates: readonly { readonly metadata: { readonly name: string } }[];
    readonly template: {
      readonly metadata: { readonly labels: Labels };
      readonly spec: {
        readonly enableServiceLinks: boolean;
        readonly terminationGracePeriodSeconds: number;
        readonly securityContext: { readonly runAsUser: number; readonly fsGroup: number };
        readonly containers: readonly Container[];
        readonly volumes: readonly { readonly name: string; readonly configMap: { readonly name: string } }[];
      };
    };
  };
}

interface Kustomization {
  readonly resources: readonly string[];
  readonly images: readonly { readonly name: string }[];
  readonly configMapGenerator: readonly { readonly name: string; readonly files: readonly string[] }[];
  readonly secretGenerator: readonly { readonly name: string; readonly envs: readonly string[] }[];
}

const kustomization = parse(read("kustomization.yml")) as Kustomization;
const manifests = kustomization.resources.flatMap((file) => manifestsOf(read(file)));
const secretNames = [...read(".env.example").matchAll(/^([A-Z_]+)=$/gm)].map(([, name = ""]) => name);
const nodes = find("StatefulSet", "tonearm");
const nats = find("StatefulSet", "nats");

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function read(file: string): string {
  return readFileSync(join(FOLDER, file), "utf8");
}

function manifestsOf(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

function find(kind: string, name: string): Manifest {
  const found = manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

function ofKind(kind: string): readonly Manifest[] {
  return manifests.filter((manifest) => manifest.kind === kind);
}

/** In words; empty for a valid object. */
function problemsOf(manifest: Manifest): readonly string[] {
  const name = SCHEMA_OF[`${manifest.apiVersion} ${manifest.kind}`];
  if (name === undefined) return [`there is no schema of ${manifest.apiVersion} ${manifest.kind}`];
  const file = readFileSync(join(PROJECT_ROOT, "test/fixtures/kubernetes/schemas.json"), "utf8");
  const { $defs } = JSON.parse(file);
  const { error } = z.fromJSONSchema({ $defs, $ref: `#/$defs/${name}` }).safeParse(manifest);
  return (error?.issues ?? []).map(
    ({ path, message }) => `${manifest.kind} ${manifest.metadata.name}: ${path.join(".")}: ${message}`,
  );
}

describe("deploy/kubernetes", () => {
  test("an unknown field, a wrong type and a missing field are found, so that the next test has an effect", () => {
    const text = JSON.stringify(nodes);
    const problems = (from: string, to: string): readonly string[] => {
      expect(text).toContain(from);
      return problemsOf(JSON.parse(text.replace(from, to)));
    };
    expect(problems('"readOnlyRootFilesystem":true', '"readOnlyRootFilesytem":true')).toHaveLength(1);
    expect(problems('"containerPort":2333', '"containerPort":"2333"')).toHaveLength(1);
    expect(problems('"selector":', '"selectors":').length).toBeGreaterThan(0);
  });

  test("every object is valid by the schemas of the API, without unknown fields", () => {
    expect(manifests.flatMap(problemsOf)).toEqual([]);
    expect(manifests.length).toBeGreaterThan(10);
  });

  test("selectors select the pods of a StatefulSet, and Services have ports of theirs", () => {
    const sets = [nodes, nats];
    const owner = (selector: Labels): Manifest | undefined =>
      sets.find(({ metadata, spec }) => {
        const pod = selector["statefulset.kubernetes.io/pod-name"];
        if (pod !== undefined) return new RegExp(`^${metadata.name}-[0-${spec.replicas - 1}]$`).test(pod);
        return JSON.stringify(spec.template.metadata.labels) === JSON.stringify(selector);
      });
    for (const { spec } of [...sets, ...ofKind("PodDisruptionBudget")])
      expect(owner(spec.selector.matchLabels)).toBeDefined();
    for (const { spec } of ofKind("NetworkPolicy")) {
      const peers = spec.ingress.flatMap(({ from = [] }) => from);
      for (const { podSelector } of [spec, ...peers]) expect(owner(podSelector.matchLabels)).toBeDefined();
    }
    for (const { metadata, spec } of ofKind("Service")) {
      const ports = owner(spec.selector)?.spec.template.spec.containers[0]?.ports ?? [];
      const open = new Set<string | number>(ports.flatMap(({ name, containerPort }) => [name, containerPort]));
      expect(
        spec.ports.filter(({ port, targetPort }) => !open.has(targetPort ?? port)),
        metadata.name,
      ).toEqual([]);
    }
    const services = ofKind("Service").map(({ metadata }) => metadata.name);
    expect(services).toEqual(expect.arrayContaining(sets.map(({ spec }) => spec.serviceName)));
  });

  test("every file, ConfigMap, key of the Secret, volume and image that is named exists", () => {
    const files = [...kustomization.resources, ...kustomization.configMapGenerator.flatMap((map) => map.files)];
    expect(files.filter((file) => !existsSync(join(FOLDER, file)))).toEqual([]);
    expect(kustomization.secretGenerator.map(({ name, envs }) => ({ name, envs }))).toEqual([
      { name: "tonearm", envs: [".env"] },
    ]);
    for (const { spec } of [nodes, nats]) {
      const { containers, volumes } = spec.template.spec;
      for (const { configMap } of volumes) {
        expect(kustomization.configMapGenerator.map(({ name }) => name)).toContain(configMap.name);
      }
      const mountable = [...volumes.map(({ name }) => name), ...spec.volumeClaimTemplates.map((c) => c.metadata.name)];
      for (const { volumeMounts, envFrom = [], env = [] } of containers) {
        expect(volumeMounts.map(({ name }) => name).toSorted()).toEqual(mountable.toSorted());
        expect(volumeMounts.filter(({ subPath }) => subPath !== undefined && !files.includes(subPath))).toEqual([]);
        const secrets = env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []);
        expect(secrets.filter(({ key }) => !secretNames.includes(key))).toEqual([]);
        const named = [...envFrom.map(({ secretRef }) => secretRef.name), ...secrets.map(({ name }) => name)];
        expect(new Set(named)).toEqual(new Set(["tonearm"]));
      }
    }
    expect(kustomization.images.map(({ name }) => name)).toEqual([nodes.spec.template.spec.containers[0]?.image]);
  });

  test("the nodes' configuration is valid, with a variable for each secret, and names a Service of each NATS server", () => {
    expect(secretNames.filter((name) => findByVariable(name) === undefined)).toEqual([]);
    const { config, warnings } = loadConfig({
      args: [],
      env: Object.fromEntries(secretNames.map((name) => [name, "a long random text"])),
      cwd: "/app",
      realPath: (path: string) => path,
      coreCount: 4,
      readFile: (path) => (path === "/app/tonearm.yml" ? read("tonearm.yml") : undefined),
    });
    expect(warnings.filter((warning) => warning.includes("is not a known key"))).toEqual([]);
    const addresses = Array.from({ length: nats.spec.replicas }, (_, index) => `nats-${index}`);
    expect(config.cluster?.servers.map(String)).toEqual(addresses.map((name) => `nats://${name}:4222`));
    // A server that is not ready may have the quorum: a Service that hides it would refuse, as if it were gone.
    for (const name of addresses) expect(find("Service", name).spec.publishNotReadyAddresses, name).toBe(true);
    const routes = [...read("nats.conf").matchAll(/nats:\/\/([\w.-]+):6222/g)].map(([, host]) => host);
    expect(routes).toEqual(addresses.map((name) => `${name}.${nats.spec.serviceName}`));
  });

  test("a node has the time to drain and to close, is the image's user, and gets no variables of Services", () => {
    const { terminationGracePeriodSeconds, securityContext, containers, enableServiceLinks } = nodes.spec.template.spec;
    const command = containers[0]?.lifecycle?.preStop.exec.command ?? [];
    expect(command.slice(0, -1)).toEqual(["tonearm", "drain", "--deadline"]);
    expect(terminationGracePeriodSeconds).toBeGreaterThan(Number(command.at(-1)) + CLOSE_SECONDS_MAX);
    const dockerfile = readFileSync(join(PROJECT_ROOT, "Dockerfile"), "utf8");
    expect(dockerfile).toContain(`USER ${IMAGE_USER}:${IMAGE_USER}`);
    expect(securityContext).toMatchObject({ runAsUser: IMAGE_USER, fsGroup: IMAGE_USER });
    expect(enableServiceLinks).toBe(false);
  });

  test.skipIf(spawnSync("kubectl", ["version", "--client"]).status !== 0)(
    "kubectl puts all together, and what it makes is valid",
    () => {
      const folder = copy();
      renameSync(join(folder, ".env.example"), join(folder, ".env"));
      const { stdout, stderr } = spawnSync("kubectl", ["kustomize", folder], { encoding: "utf8" });
      const made = manifestsOf(stdout).filter(({ kind }) => kind !== "Secret");
      expect(made.length, stderr).toBe(manifests.length + kustomization.configMapGenerator.length);
      expect(made.flatMap(problemsOf)).toEqual([]);
    },
  );

  const NATS_SERVER = join(homedir(), "go/bin/nats-server");
  test.skipIf(!existsSync(NATS_SERVER))("a NATS server accepts its configuration", () => {
    const env = { NATS_TOKEN: "'12k'" };
    const args = ["-t", "--config", join(FOLDER, "nats.conf"), "--name", "nats-0"];
    expect(spawnSync(NATS_SERVER, args, { env, encoding: "utf8" })).toMatchObject({ status: 0 });
  });

  function copy(): string {
    const folder = mkdtempSync(join(tmpdir(), "tonearm-kubernetes-"));
    folders.push(folder);
    cpSync(FOLDER, folder, { recursive: true });
    return folder;
  }
});
