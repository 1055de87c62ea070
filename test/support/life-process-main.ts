// A process that listens as a machine of the id in its first argument does, and prints its endpoint.

import { LifeListener } from "../../src/cluster/life-listener.ts";
import { silentLogger } from "../../src/log/log.ts";

const listener = new LifeListener({ logger: silentLogger });
listener.listen();
listener.setId(process.argv[2]);
for (; listener.endpoint("127.0.0.1") === undefined; ) await new Promise((resolve) => setImmediate(resolve));
console.log(JSON.stringify(listener.endpoint("127.0.0.1")));
// The listener itself does not keep the process.
setInterval(() => undefined, 1000);
