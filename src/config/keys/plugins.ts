// The keys of plugins: which to load, their options, and the hosts that replace the sites they ask.

import { flagKey, mapKey, type ReadKey, structureKey, textKey } from "./key.ts";
import { javaNamesOf, pluginEntriesOf } from "./plugin-entries.ts";
import { Secret } from "./secret.ts";
import { treesOf } from "./setting-tree.ts";
import { baseUrlType, hostNameType } from "./value-type.ts";

export function pluginKeys(read: ReadKey) {
  return {
    plugins: {
      /** In load order. */
      entries: read(
        structureKey("tonearm.plugins", {
          meaning:
            "Plugins to load, each with package (the name of an npm package) or path (a file or folder, " +
            "relative to the folder the node was started in). enabled: false skips it; required: true stops " +
            "the start if it fails; proxy: used for it and its links instead of httpConfig; " +
            "userAgent: sent by both; fallback: as for built-in ones.",
          defaultValue: [],
          defaultNote: "none",
          example: "[{ package: tonearm-plugin-example }, { path: ./my-plugin.ts, required: true }]",
          expected: "a list of entries",
          read: pluginEntriesOf,
          shownMembers: ["package", "path"],
        }),
      ),
      isReloadedOnChange: read(
        flagKey("tonearm.pluginReloadOnChange", {
          meaning: "Reload a plugin when its files change on disk.",
          defaultValue: false,
        }),
      ),
      /** Empty: in memory only. */
      dataPath: read(
        textKey("tonearm.pluginDataPath", {
          meaning:
            "Folder where plugins persist logins and ids from sites: one file each, with secrets, for one " +
            "node. Empty: in memory only.",
          defaultValue: "",
          example: "/var/lib/tonearm",
        }),
      ),
      options: optionKeys(read),
      javaNames: javaKeys(read),
    },
    /** Base URLs by the lower-case host that they replace in the requests of plugins. */
    hosts: read(
      mapKey("tonearm.hosts", {
        meaning:
          "Servers that plugins use instead of a host, such as mirrors or test servers. A host with a dash " +
          "cannot be set by variable.",
        defaultValue: {},
        defaultNote: "none",
        example: "{ www.example.com: http://192.0.2.7:8080 }",
        type: baseUrlType,
        memberNames: [],
        nameType: hostNameType,
        isPrivate: true,
      }),
    ),
  };
}

/** The options of plugins by name in relaxed spelling (`canonicalName`). They may contain secrets. */
function optionKeys(read: ReadKey) {
  return new Secret(
    read(
      structureKey("plugins", {
        meaning:
          "Options of plugins, by name. Built-in plugins also have enabled, proxy and userAgent for the " +
          "plugin and its links, and fallback: search prefixes such as scsearch, at most 5, where a track " +
          "that cannot be started is looked for. Variables have no dashes, and underscores only between names: " +
          "PLUGINS_YOUTUBE_ALLOWSEARCH.",
        defaultValue: {},
        defaultNote: "none",
        example: "{ youtube: { allowSearch: false } }",
        expected: "names of plugins, each with its options",
        read: (settings, report) => treesOf(settings, report, "options below the name of a plugin"),
      }),
    ),
  );
}

/** `group:artifact` of the requested Java plugins, in lower case. */
function javaKeys(read: ReadKey) {
  return read(
    structureKey("lavalink.plugins", {
      meaning: "Java plugins. They cannot run in Tonearm; those without a built-in replacement cause a warning.",
      defaultValue: [],
      defaultNote: "none",
      example: '[{ dependency: "dev.lavalink.youtube:youtube-plugin:1.0.0" }]',
      expected: "a list of entries with a dependency",
      read: javaNamesOf,
      shownMembers: ["dependency"],
    }),
  );
}
