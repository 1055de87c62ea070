// Which paths exist and which methods they take: decides between 404 and 405 and answers OPTIONS (protocol-v4.md
// sections 1.1, 1.2 and 1.4). Main thread; filled as routes are registered.

export class RouteTable {
  readonly #routes: { readonly pattern: RegExp; readonly methods: Set<string> }[] = [];

  /** `path` may hold `:name` segments. */
  add(path: string, method: string): void {
    const pattern = new RegExp(`^${path.replaceAll(/:[A-Za-z]+/g, "[^/]+")}$`);
    const known = this.#routes.find((route) => route.pattern.source === pattern.source);
    if (known) known.methods.add(method);
    else this.#routes.push({ pattern, methods: new Set([method]) });
  }

  /** The methods of a path in alphabetical order, or undefined for an unknown path. */
  methodsOf(path: string): readonly string[] | undefined {
    const route = this.#routes.find(({ pattern }) => pattern.test(path));
    return route && [...route.methods].sort();
  }
}

/** The value of `Allow` in an answer to OPTIONS. */
export function allowForOptions(methods: readonly string[]): string {
  return [...methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])), "OPTIONS"].join(",");
}
