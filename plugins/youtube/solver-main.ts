// Entry of the solver thread: passes jobs to the session, one after the other. A script that damages this thread fails
// only its job: the plugin thread may end it at any time. Solver thread.

import { parentPort } from "node:worker_threads";
import { type SolverJob, SolverSession } from "./solver-session.ts";

if (parentPort === null) throw new Error("solver-main.ts runs in a worker thread only");
const port = parentPort;
const session = new SolverSession();
port.on("message", (job: SolverJob) => {
  // It never rejects.
  void session.handle(job).then((reply) => port.postMessage(reply));
});
