// A log line for each request, as `logging.request.*` asks for it. Main thread; called by the REST server. Passwords,
// voice tokens and the like are taken out here where they might be cut in two, and by the log (log-pino.ts) everywhere.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { RequestLogging } from "../../config/node-config.ts";
import { REDACTED, redactText } from "../../lib/redact-text.ts";
import { isSecretName } from "../../lib/secret-names.ts";
import type { LogFields, Logger } from "../../log/log.ts";
import { HEALTH_AGENT, HEALTH_PATH } from "./health-check.ts";

/** So much more of a body is looked through, so that a secret which is cut off at its end is still seen to be one. */
const CUT_MARGIN_LENGTH = 4096;

interface AnsweredRequest {
  readonly query: ReadonlyMap<string, string>;
  readonly reply: FastifyReply;
  readonly isBodySecret: boolean;
  readonly fields: LogFields | undefined;
}

export class RequestLog {
  readonly #settings: RequestLogging;
  readonly #logger: Logger;

  constructor(settings: RequestLogging, logger: Logger) {
    this.#settings = settings;
    this.#logger = logger;
  }

  /** Called before a request is processed; its body has not arrived yet. */
  before(request: FastifyRequest, query: ReadonlyMap<string, string>): void {
    if (this.#settings.isLoggedBefore) this.#logger.info(this.#line("before", request, query), this.#origin(request));
  }

  /** `isBodySecret`: of its body nothing is shown. `fields`: what the route has to say of the answer. */
  after(request: FastifyRequest, { query, reply, isBodySecret, fields }: AnsweredRequest): void {
    // Failed logins must not fill the log: authentication.ts logs them once a minute.
    if (reply.statusCode === 429) return;
    // `tonearm health`, every half minute.
    if (reply.statusCode === 200 && isHealthCheck(request)) return;
    this.#logger.info(this.#line("answered", request, query), {
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
      ...fields,
      ...this.#origin(request),
      ...(isBodySecret ? {} : this.#payload(request.body)),
    });
  }

  #line(env: string, { method, originalUrl }: FastifyRequest, query: ReadonlyMap<string, string>): string {
    const path = originalUrl.split(/[?#]/, 1)[0] ?? "";
    const pairs = Array.from(query, ([name, value]) => `${name}=${isSecretName(name) ? REDACTED : redactText(value)}`);
    const isQueryShown = this.#settings.isQueryShown && pairs.length > 0;
    return `${env} ${method} ${path}${isQueryShown ? `?${pairs.join("&")}` : ""}`;
  }

  #origin({ ip, headers }: FastifyRequest): LogFields {
    const { isClientShown, areHeadersShown } = this.#settings;
    return {
      ...(isClientShown ? { client: ip } : {}),
      ...(areHeadersShown ? { headers } : {}),
    };
  }

  #payload(body: unknown): LogFields {
    const { isPayloadShown, payloadLengthMax } = this.#settings;
    if (!isPayloadShown || typeof body !== "string" || body === "") return {};
    const start = body.slice(0, payloadLengthMax + CUT_MARGIN_LENGTH);
    return { payload: redactText(start).slice(0, payloadLengthMax) };
  }
}

function isHealthCheck({ originalUrl, headers }: FastifyRequest): boolean {
  return originalUrl === HEALTH_PATH && headers["user-agent"] === HEALTH_AGENT;
}
