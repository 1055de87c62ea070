// The process that tries files for run-trials.ts, which ends it when a file takes too long: nothing that a file does to a
// decoder, be it a crash or a loop, ends the run. Lab only.

import { answering } from "../test-environment/side-process.ts";
import { type FileFacts, FileTrials, type TrySettings } from "./try-file.ts";

export interface TrialRequest {
  readonly settings: TrySettings;
  readonly file: string;
  /** See Expected. */
  readonly audioFile: string | undefined;
}

let whenStarted: Promise<FileTrials> | undefined;

answering<TrialRequest>(async ({ settings, file, audioFile }): Promise<FileFacts> => {
  whenStarted ??= FileTrials.start(settings);
  return (await whenStarted).try(file, audioFile);
});
