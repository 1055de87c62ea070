// A log line for each request, as `logging.request.*` asks for it. Main thread; called by the REST server. Passwords, voice
// tokens and the like are taken out.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { RequestLogging } from "../../config/node-config.ts";
import type { LogFields, Logger } from "../../log.ts";

const SECRET_NAME = /authorization|cookie|password|token|secret/i;
/** A member of a JSON object with such a name and a text, which may be cut off. Names are bounded, or it would be slow. */
const SECRET_MEMBER =
  /("[^"]{0,40}(?:authorization|password|token|secret)[^"]{0,40}"\s{0,9}:\s{0,9})"(?:[^"\\]|\\.)*(?:"|\\?$)/gi;
const REDACTED = "<redacted>";

export class RequestLog {
  readonly #settings: RequestLogging;
  readonly #logger: Logger;

  constructor(settings: RequestLogging, logger: Logger) {
    this.#settings = settings;
    this.#logger = logger;
  }

  /** Before a request is looked at; its body is not there yet. */
  before(request: FastifyRequest, query: ReadonlyMap<string, string>): void {
    if (this.#settings.isLoggedBefore) this.#logger.info(this.#line("before", request, query), this.#origin(request));
  }

  after(request: FastifyRequest, query: ReadonlyMap<string, string>, reply: FastifyReply): void {
    this.#logger.info(this.#line("answered", request, query), {
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
      ...this.#origin(request),
      ...this.#payload(request.body),
    });
  }

  #line(stage: string, { method, originalUrl }: FastifyRequest, query: ReadonlyMap<string, string>): string {
    const path = originalUrl.split(/[?#]/, 1)[0] ?? "";
    const pairs = Array.from(query, ([name, value]) => `${name}=${SECRET_NAME.test(name) ? REDACTED : value}`);
    const isQueryShown = this.#settings.isQueryShown && pairs.length > 0;
    return `${stage} ${method} ${path}${isQueryShown ? `?${pairs.join("&")}` : ""}`;
  }

  #origin({ ip, headers }: FastifyRequest): LogFields {
    const { isClientShown, areHeadersShown } = this.#settings;
    const shown = Object.entries(headers).map(([name, value]) => [name, SECRET_NAME.test(name) ? REDACTED : value]);
    return {
      ...(isClientShown ? { client: ip } : {}),
      ...(areHeadersShown ? { headers: Object.fromEntries(shown) } : {}),
    };
  }

  #payload(body: unknown): LogFields {
    const { isPayloadShown, payloadLengthMax } = this.#settings;
    if (!isPayloadShown || typeof body !== "string" || body === "") return {};
    return { payload: body.slice(0, payloadLengthMax).replaceAll(SECRET_MEMBER, `$1"${REDACTED}"`) };
  }
}
