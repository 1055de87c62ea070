import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PROJECT_ROOT } from "../../support/project-files.ts";

interface LockedPackage {
  readonly link?: boolean;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

// Our own file, written by npm. Only the packages below node_modules come from a registry; the others are our own.
const LOCK = JSON.parse(readFileSync(`${PROJECT_ROOT}package-lock.json`, "utf8")) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};
const PACKAGES = Object.entries(LOCK.packages).filter(
  ([path, { link }]) => path.includes("node_modules/") && link !== true,
);

/**
 * Packages for other platforms than the one that wrote the lock file, whose registry does not serve them: npm installs
 * them by name and version alone. `node .ci/complete-lock.mjs` adds the hashes where the registry has them; then remove
 * them here.
 */
const WITHOUT_INTEGRITY = [
  ...["android-arm64", "android-x64", "darwin-arm64", "darwin-x64"].map((machine) => `@biomejs/cli-${machine}`),
  ...["linux-arm64-musl", "linux-x64-musl", "win32-arm64", "win32-x64"].map((machine) => `@biomejs/cli-${machine}`),
  ...["darwin-arm64", "darwin-x64"].map((machine) => `@napi-rs/webcodecs-${machine}`),
  ...["arm-gnueabihf", "arm64-gnu", "arm64-musl"].map((machine) => `@napi-rs/webcodecs-linux-${machine}`),
  ...["win32-arm64-msvc", "win32-x64-msvc"].map((machine) => `@napi-rs/webcodecs-${machine}`),
  ...["android-arm-eabi", "android-arm64", "darwin-arm64", "darwin-x64", "freebsd-x64"].map(
    (machine) => `@oxc-parser/binding-${machine}`,
  ),
  ...["arm-gnueabihf", "arm-musleabihf", "ppc64-gnu", "riscv64-gnu", "riscv64-musl", "s390x-gnu"].map(
    (machine) => `@oxc-parser/binding-linux-${machine}`,
  ),
  ...["openharmony-arm64", "win32-arm64-msvc", "win32-ia32-msvc", "win32-x64-msvc"].map(
    (machine) => `@oxc-parser/binding-${machine}`,
  ),
].map((name) => `node_modules/${name}`);

test("every package of the lock file has an integrity hash, except for platforms that our registry does not serve", () => {
  const bare = PACKAGES.filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ""));
  expect(bare.map(([path]) => path).toSorted()).toEqual(WITHOUT_INTEGRITY.toSorted());
});

test("a package without an integrity hash is optional, and never installed on the platforms that run the tests", () => {
  const installable = WITHOUT_INTEGRITY.filter((path) => {
    const { optional, os = [], cpu = [], libc = ["glibc"] } = LOCK.packages[path] ?? {};
    return optional !== true || (os.includes("linux") && cpu.includes("x64") && libc.includes("glibc"));
  });
  expect(installable).toEqual([]);
});

test("every package of the docs site has an integrity hash, and is bound to no registry", () => {
  const { packages } = JSON.parse(readFileSync(`${PROJECT_ROOT}docs/site/package-lock.json`, "utf8")) as typeof LOCK;
  const loose = Object.entries(packages).filter(
    ([path, { integrity, resolved }]) => path !== "" && (!integrity?.startsWith("sha512-") || resolved !== undefined),
  );
  expect(loose.map(([path]) => path)).toEqual([]);
});

test("no version is pinned by `overrides`, which npm reads in this checkout and not where the node is installed", () => {
  const manifest: unknown = JSON.parse(readFileSync(`${PROJECT_ROOT}package.json`, "utf8"));
  expect(manifest).not.toHaveProperty("overrides");
});

test("no package is bound to a registry: npm uses the configured one", () => {
  expect(PACKAGES.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
});
