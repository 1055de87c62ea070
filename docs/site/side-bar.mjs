// The order in which the site shows its pages. A page that stands nowhere here, or a line here without its page, is
// a failed test (test/unit/tidy/docs-site.test.ts).

/**
 * @typedef {object} Section
 * @property {string} title
 * @property {readonly (string | Section)[]} items pages by their path in the repository, and sections within this one
 * @property {boolean} [isFolded] shut until somebody opens it
 */

/** Pages that are made when the site is built, by the path that they would have. */
export const OPENAPI_PAGE = "docs/reference/openapi.md";
export const CONFIG_EXAMPLE_PAGE = "docs/reference/config-example.md";

/** The front door. */
export const INDEX_PAGE = "docs/index.md";

/** @type {readonly Section[]} */
export const SIDE_BAR = [
  {
    title: "Tutorial",
    items: ["docs/tutorial/first-bot.md", "docs/tutorial/shoukaku.md", "docs/tutorial/wavelink.md"],
  },
  {
    title: "How to",
    items: [
      "docs/how-to/install.md",
      "docs/how-to/container.md",
      "docs/how-to/pterodactyl.md",
      "docs/how-to/from-lavalink.md",
      "docs/how-to/from-nodelink.md",
      "docs/how-to/tls-and-keys.md",
      "docs/how-to/reverse-proxy.md",
      "docs/how-to/many-bots.md",
      "docs/how-to/home-server.md",
      "docs/how-to/tuning.md",
      "docs/how-to/dashboard.md",
      "docs/how-to/monitoring.md",
      "docs/how-to/support.md",
      "docs/plugins.md",
    ],
  },
  {
    title: "Reference",
    items: [
      "docs/reference/configuration.md",
      CONFIG_EXAMPLE_PAGE,
      "docs/reference/rest.md",
      OPENAPI_PAGE,
      "docs/reference/websocket.md",
      "docs/reference/filters.md",
      "docs/reference/sources.md",
      "docs/reference/errors.md",
      "docs/reference/metrics.md",
      "docs/reference/outbound-guard.md",
      "docs/reference/route-planner.md",
      "docs/reference/compatibility.md",
      "docs/reference/glossary.md",
    ],
  },
  {
    title: "Explanation",
    items: [
      "ARCHITECTURE.md",
      "docs/internals/tick.md",
      "docs/explanation/passthrough.md",
      "docs/explanation/dave.md",
      "docs/benchmarks.md",
      {
        title: "How it works inside",
        isFolded: true,
        items: [
          "docs/internals/effects.md",
          "docs/internals/links.md",
          "docs/internals/incidents.md",
          "docs/internals/recovery.md",
          "docs/internals/moving.md",
          "docs/internals/isolation.md",
          "docs/internals/closing.md",
          "docs/internals/simulation.md",
          "docs/internals/encoder-quality.md",
        ],
      },
      {
        title: "Decisions",
        isFolded: true,
        items: [
          "docs/decisions/build.md",
          "docs/decisions/codecs.md",
          "docs/decisions/config.md",
          "docs/decisions/dashboard.md",
          "docs/decisions/dependencies.md",
          "docs/decisions/opus-encoder.md",
          "docs/decisions/pacer.md",
          "docs/decisions/plugins.md",
        ],
      },
    ],
  },
  {
    title: "The project",
    items: [
      "CONTRIBUTING.md",
      "CHANGELOG.md",
      {
        title: "The lab",
        isFolded: true,
        items: [
          "lab/discord/README.md",
          "lab/simulate/README.md",
          "lab/isolation/README.md",
          "lab/conformance/README.md",
        ],
      },
    ],
  },
];

/**
 * Every page below some items, in the order of the side bar.
 *
 * @param {readonly (string | Section)[]} items
 * @returns {string[]}
 */
export function pagesIn(items) {
  return items.flatMap((item) => (typeof item === "string" ? [item] : pagesIn(item.items)));
}
