// `lavalink`: the keys beside `lavalink.server`, all about Java plugins, which cannot run here.

import { textKey, treeKey } from "../key.ts";
import { defineSection } from "../section.ts";

const NO_JAVA = "Java plugins cannot run in Tonearm";

export const lavalinkSection = defineSection("lavalink", {
  plugins: treeKey({
    meaning: "Java plugins to download and load.",
    defaultNote: "none",
    example: '[{ dependency: "group:name:1.0.0" }]',
    noEffect: NO_JAVA,
    isMissed: true,
  }),
  pluginsDir: textKey({ meaning: "Folder of the plugins.", defaultValue: "./plugins", noEffect: NO_JAVA }),
  defaultPluginRepository: textKey({
    meaning: "Where plugins are downloaded from.",
    defaultValue: "https://maven.lavalink.dev/releases",
    noEffect: NO_JAVA,
  }),
  defaultPluginSnapshotRepository: textKey({
    meaning: "Where snapshots of plugins are downloaded from.",
    defaultValue: "https://maven.lavalink.dev/snapshots",
    noEffect: NO_JAVA,
  }),
});

/** Sections at the top of a Lavalink file that are not ours to check. */
export const foreignSections = defineSection("", {
  plugins: treeKey({
    meaning: "Settings of Java plugins.",
    defaultNote: "none",
    example: "{ name: { key: value } }",
    noEffect: NO_JAVA,
    isMissed: true,
  }),
  spring: treeKey({
    meaning: "Settings of the Java framework.",
    defaultNote: "none",
    example: "{ main: { banner-mode: log } }",
    noEffect: "there is no Spring in Tonearm",
  }),
});
