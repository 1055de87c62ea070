// `server`: where clients reach the node.

import { flagKey, integerKey, textKey } from "../key.ts";
import { defineSection } from "../section.ts";

export const serverSection = defineSection("server", {
  port: integerKey({
    meaning: "TCP port for REST and WebSocket. 0 takes any free one.",
    defaultValue: 2333,
    min: 0,
    max: 65535,
  }),
  address: textKey({
    meaning:
      "Address to listen on. The default is reachable from this machine only; 0.0.0.0 (or ::) from everywhere: then set a password of your own.",
    defaultValue: "127.0.0.1",
  }),
  "http2.enabled": flagKey({
    meaning: "HTTP/2 for REST.",
    defaultValue: false,
    noEffect: "HTTP/1.1 is served; clients use nothing else",
  }),
});
