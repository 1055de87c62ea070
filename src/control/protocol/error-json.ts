// The error object of the protocol (protocol-v4.md section 1.3). Main thread; made by api/api-error.ts.

/**
 * `timestamp` is epoch milliseconds, `error` the reason phrase of `status`, `trace` only where the query asks for it
 * (`?trace`).
 */
export interface ErrorJson {
  readonly timestamp: number;
  readonly status: number;
  readonly error: string;
  readonly trace?: string;
  readonly message: string;
  readonly path: string;
}
