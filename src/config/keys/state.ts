// The keys of what outlives the process: sessions and players on disk (src/state/).

import { flagKey, type ReadKey, secretKey, textKey } from "./key.ts";

export function stateKeys(read: ReadKey) {
  return {
    state: {
      isEnabled: read(
        flagKey("tonearm.state.enabled", {
          meaning: "Store sessions with resuming and their players on disk, so that they survive a restart.",
          defaultValue: true,
        }),
      ),
      /** As it was written; "": the default. */
      path: read(
        textKey("tonearm.state.path", {
          meaning: "Folder of the stored state, for one node. Relative to the folder the node was started in.",
          defaultValue: "",
          defaultNote: "state, below systemd's state directory if there is one",
          example: "/var/lib/tonearm/state",
        }),
      ).trim(),
      key: read(
        secretKey("tonearm.state.key", {
          meaning:
            "Secret that encrypts the stored state. Unset: the file `key` in its folder. Changed: the node starts empty.",
          defaultNote: "none",
          example: "yet another long random text",
        }),
      ),
    },
  };
}
