// The error of work that had to give way to other work of the plugin. It says nothing about the site: no circuit breaker
// counts it. Plugin thread.

import { SourceError } from "../../../plugin-api/plugin.ts";

export class OwnLimitError extends SourceError {
  constructor(message: string) {
    super("busy", message);
  }
}
