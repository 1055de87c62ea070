// Entry of the solver's thread: hands jobs to the session, one after the other. Whatever a script does to this thread
// costs that job: whoever started it ends it at any time. Solver thread.

import { parentPort } from "node:worker_threads";
import { type SolverJob, SolverSession } from "./solver-session.ts";

if (parentPort === null) throw new Error("solver-main.ts runs in a worker thread only");
const port = parentPort;
const session = new SolverSession();
port.on("message", (job: SolverJob) => {
  // It never rejects.
  void session.handle(job).then((reply) => port.postMessage(reply));
});
