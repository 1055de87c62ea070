import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

// Five suites, each one project; CONTRIBUTING.md says what each needs, test/run-suites.mjs runs them. The time limits
// end a test that hangs; they are long enough for a slow machine that is busy elsewhere.
const shared = {
  pool: "forks" as const,
  testTimeout: 180_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 30_000, interval: 5 } },
  tags: [{ name: "real-time", description: "Listens in real time; `npm test` leaves it out." }],
};

/** Suites whose files start processes that load the machine, or measure it: one file after the other. */
const oneByOne = { ...shared, fileParallelism: false, testTimeout: 600_000, hookTimeout: 600_000 };

export default defineConfig({
  // Tests run from the sources of the workspaces, not from their build.
  resolve: {
    alias: { "@tonearm/opus-encoder": fileURLToPath(new URL("opus-encoder/src/index.ts", import.meta.url)) },
  },
  test: {
    projects: [
      {
        extends: true,
        test: {
          ...shared,
          name: "unit",
          include: ["test/unit/**/*.test.ts"],
          globalSetup: ["test/support/kernels-once.ts"],
          // Files share a process, one after the other: loading the same modules for each took half of the CPU
          // time. A file leaves nothing running and changes nothing global.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          ...shared,
          name: "integration",
          include: ["test/integration/**/*.test.ts"],
          globalSetup: ["test/support/build-once.ts"],
          // Files share a process, one after the other: loading the whole node for each took a third of the time.
          isolate: false,
          // Playing a track takes as long for many players as for one.
          maxConcurrency: 16,
        },
      },
      {
        extends: true,
        test: {
          ...oneByOne,
          name: "packaging",
          include: ["test/packaging/**/*.test.ts"],
          globalSetup: ["test/support/build-once.ts"],
        },
      },
      {
        extends: true,
        test: {
          ...oneByOne,
          name: "ui",
          include: ["test/ui/**/*.test.ts"],
          globalSetup: ["test/ui/docs/build-site.ts"],
        },
      },
      {
        extends: true,
        test: {
          ...oneByOne,
          name: "slow",
          include: ["test/slow/**/*.test.ts"],
          globalSetup: ["test/support/build-once.ts"],
          maxConcurrency: 2,
        },
      },
    ],
  },
});
