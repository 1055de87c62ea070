import { defineConfig } from "vitest/config";

// One project per ring of tests; CONTRIBUTING.md says what each needs. `npm test` runs unit and scenario.
// Times are until a test is given up, never until it passes: long enough for a slow machine that is busy elsewhere.
const shared = {
  pool: "forks",
  testTimeout: 180_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 30_000, interval: 5 } },
} as const;

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...shared,
          name: "unit",
          include: ["test/unit/**/*.test.ts"],
          globalSetup: ["test/support/kernels-once.ts"],
          // Files share a process, one after the other: loading the same modules for each took half of the processor
          // time. A file leaves nothing running and changes nothing global.
          isolate: false,
        },
      },
      {
        test: {
          ...shared,
          name: "scenario",
          include: ["test/scenario/**/*.test.ts"],
          globalSetup: ["test/support/build-once.ts"],
          // Files share a process, one after the other: each makes a stage of its own, and to load all of the node for
          // each of them took a third of the time.
          isolate: false,
          // Tracks take their time whether one or many play.
          maxConcurrency: 16,
        },
      },
      { test: { ...shared, name: "tidy", include: ["test/tidy/**/*.test.ts"] } },
      {
        test: {
          ...shared,
          name: "media",
          include: ["test/media/**/*.test.ts"],
          globalSetup: ["test/support/build-once.ts"],
        },
      },
      {
        test: {
          ...shared,
          name: "clients",
          include: ["test/clients/*.test.ts"],
          globalSetup: ["test/support/build-once.ts"],
          maxConcurrency: 16,
          // A Python environment is installed first.
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          ...shared,
          name: "tutorial",
          include: ["test/tutorial/*.test.ts"],
          globalSetup: ["test/support/build-once.ts"],
          // Packages are installed from the registries.
          testTimeout: 300_000,
        },
      },
      {
        test: {
          ...shared,
          name: "rust-client",
          include: ["test/clients/rust/*.test.ts"],
          globalSetup: ["test/support/build-once.ts"],
        },
      },
      {
        test: {
          ...shared,
          name: "java-client",
          include: ["test/clients/java/*.test.ts"],
          globalSetup: ["test/support/build-once.ts"],
        },
      },
      {
        test: {
          ...shared,
          name: "install",
          include: ["test/install/*.test.ts"],
          globalSetup: ["test/support/build-once.ts"],
          // What is timed shares the machine with nothing of ours.
          fileParallelism: false,
          // The registry is waited for as well.
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
      {
        test: {
          ...shared,
          name: "docs",
          include: ["test/docs/*.test.ts"],
          globalSetup: ["test/docs/build-site.ts"],
        },
      },
      {
        test: {
          ...shared,
          name: "dashboard",
          include: ["test/dashboard/*.test.ts"],
          globalSetup: ["test/support/build-once.ts"],
          // A browser each; one after the other.
          fileParallelism: false,
        },
      },
      {
        test: {
          ...shared,
          name: "netns",
          include: ["test/netns/*.test.ts"],
          globalSetup: ["test/support/build-once.ts"],
        },
      },
      {
        test: {
          ...shared,
          name: "image",
          include: ["test/image/*.test.ts"],
          globalSetup: ["test/support/build-once.ts"],
          // The egg is installed from the registry.
          testTimeout: 300_000,
        },
      },
      {
        test: {
          ...shared,
          name: "neighbours",
          include: ["test/neighbours/*.test.ts"],
          globalSetup: ["test/support/build-once.ts"],
        },
      },
      {
        test: {
          ...shared,
          name: "monitoring",
          include: ["test/monitoring/*.test.ts"],
          globalSetup: ["test/support/build-once.ts"],
        },
      },
      {
        test: {
          ...shared,
          name: "simulation",
          include: ["test/simulation/*.test.ts"],
          globalSetup: ["test/support/build-once.ts"],
          // Each is a process that needs a processor.
          maxConcurrency: 2,
          testTimeout: 600_000,
        },
      },
      {
        test: {
          ...shared,
          name: "fuzz",
          include: ["test/fuzz/**/*.test.ts"],
          globalSetup: ["test/support/build-once.ts"],
          // Each loads a node and the machine; one after the other.
          fileParallelism: false,
          testTimeout: 600_000,
        },
      },
    ],
  },
});
