// @ts-check
// The node's OpenAPI document as a page: every route with its parameters and responses, in groups, and every schema as a
// table. Plain Markdown, so that it is shown, searched and printed like the others, without a script.

/**
 * A part of the document; it comes from our own node, so its shape is not checked.
 *
 * @typedef {Record<string, any>} Json
 */

/** Groups of routes by the beginning of their paths; the first match counts. */
const GROUPS = [
  { title: "Sessions and their players", starts: ["/v4/sessions"] },
  { title: "Loading tracks", starts: ["/v4/load", "/v4/decode"] },
  { title: "Rotating addresses", starts: ["/v4/routeplanner"] },
  { title: "Extensions of Tonearm", starts: ["/v4/tonearm"] },
  { title: "YouTube logins", starts: ["/youtube"] },
  { title: "About the node", starts: ["/"] },
];

const HEADER = `# OpenAPI

Every route with its parameters, bodies, responses and schemas, generated from the document that the node serves at
\`GET /v4/openapi.json\` when this site was built. [REST](rest.md) explains the routes and their use.
`;

/** The range of exact JavaScript numbers, which is no information about a value. */
const SAFE_INTEGERS = new Set([Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]);

/**
 * @param {Json} document
 * @returns {string} a page for docs/reference/
 */
export function openApiPage(document) {
  /** @type {{ method: string, path: string, operation: Json }[]} */
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const groups = GROUPS.map(({ title }) => {
    const members = operations.filter(({ path }) => groupOf(path) === title);
    return members.length === 0 ? [] : [`## ${title}\n`, ...members.map(operationSection)];
  });
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => schemaSection(name, schema));
  return [HEADER, ...groups.flat(), "## Schemas\n", ...schemas].join("\n");
}

/** @param {string} path */
function groupOf(path) {
  return GROUPS.find(({ starts }) => starts.some((start) => path.startsWith(start)))?.title;
}

/** @param {{ method: string, path: string, operation: Json }} route */
function operationSection({ method, path, operation }) {
  const { summary, parameters, requestBody, responses, security } = operation;
  return [
    `### ${method} ${path}\n`,
    `${plain(summary)}${security?.length === 0 ? " Open to everyone: no password is needed." : ""}\n`,
    ...parameterTable(parameters),
    ...(requestBody === undefined ? [] : [`Body: ${contentText(requestBody)}.\n`]),
    ...answerTable(responses),
  ].join("\n");
}

/** @param {Json[]} parameters */
function parameterTable(parameters) {
  if (parameters.length === 0) return [];
  const rows = parameters.map(({ name, in: location, required, schema, description = "" }) =>
    row([code(name), location, typeText(schema), required ? "yes" : "no", plain(description)]),
  );
  return [table(["Parameter", "In", "Type", "Needed", "Meaning"], rows)];
}

/**
 * Statuses with the same answer share a line.
 *
 * @param {Json} responses
 */
function answerTable(responses) {
  /** @type {Map<string, string[]>} */
  const statuses = new Map();
  for (const [status, response] of Object.entries(responses)) {
    const content = contentText(response);
    const key = status.startsWith("2") ? `${status} ${content}` : content;
    statuses.set(key, [...(statuses.get(key) ?? []), `${status} ${response.description}`]);
  }
  const rows = [...statuses].map(([key, names]) => row([names.join(", "), key.replace(/^2\d\d /, "")]));
  return [table(["Status", "Answer"], rows)];
}

/** @param {Json} owner */
function contentText({ content }) {
  const [[type, { schema }] = ["", {}]] = Object.entries(content ?? {});
  if (type === "") return "empty";
  return type === "application/json" ? `${typeText(schema)} as JSON` : `${typeText(schema)} as ${code(type)}`;
}

/**
 * @param {string} name
 * @param {Json} schema
 */
function schemaSection(name, schema) {
  const alternatives = (schema.anyOf ?? []).filter((/** @type {Json} */ one) => one.type === "object");
  if (alternatives.length > 1) {
    const tables = alternatives.map((/** @type {Json} */ one) => memberTable(one));
    return `### ${name}\n\nOne of these:\n\n${tables.join("\n")}`;
  }
  const about = schema.description === undefined ? "" : `${plain(schema.description)}\n\n`;
  if (schema.type !== "object") return `### ${name}\n\n${about}${typeText(schema)}\n`;
  const members = schema.properties === undefined ? "An object of any members.\n" : memberTable(schema);
  return `### ${name}\n\n${about}${members}`;
}

/** @param {Json} schema */
function memberTable(schema) {
  return table(["Member", "Type", "Needed", "Meaning"], membersOf(schema, ""));
}

/**
 * Rows of an object's members; those of a nested object follow with their path: `info.title`.
 *
 * @param {Json} schema
 * @param {string} path
 * @returns {string[]}
 */
function membersOf({ properties = {}, required = [] }, path) {
  return Object.entries(properties).flatMap(([name, member]) => {
    const location = path + name;
    const isNeeded = required.includes(name);
    const own = row([code(location), typeText(member), isNeeded ? "yes" : "no", meaningOf(member)]);
    const inner = innerObject(member);
    return [own, ...(inner === undefined ? [] : membersOf(inner.schema, `${location}${inner.suffix}.`))];
  });
}

/**
 * The object type of a member, of one of its alternatives, or of its list items.
 *
 * @param {Json} schema
 * @returns {{ schema: Json, suffix: string } | undefined}
 */
function innerObject(schema) {
  if (schema.properties !== undefined) return { schema, suffix: "" };
  if (schema.items !== undefined) {
    const inner = innerObject(schema.items);
    return inner && { schema: inner.schema, suffix: `[]${inner.suffix}` };
  }
  for (const one of schema.anyOf ?? []) {
    const inner = innerObject(one);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

/**
 * @param {Json} schema
 * @returns {string}
 */
function typeText(schema) {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1);
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeText))].join(" or ");
  if (schema.enum !== undefined) return schema.enum.map((/** @type {unknown} */ one) => code(String(one))).join(", ");
  if (schema.const !== undefined) return code(String(schema.const));
  if (schema.type === "array") return `list of ${typeText(schema.items ?? {})}`;
  if (Array.isArray(schema.type)) return schema.type.join(" or ");
  return schema.type ?? "anything";
}

/**
 * The description of a member, and the limits of its value.
 *
 * @param {Json} schema
 */
function meaningOf(schema) {
  const values = [schema, ...(schema.anyOf ?? [])];
  const facts = values.flatMap(({ minimum, maximum, exclusiveMinimum, maxLength, maxItems, default: preset }) => [
    ...(exclusiveMinimum === undefined ? [] : [`above ${exclusiveMinimum}`]),
    ...(minimum === undefined || SAFE_INTEGERS.has(minimum) ? [] : [`from ${minimum}`]),
    ...(maximum === undefined || SAFE_INTEGERS.has(maximum) ? [] : [`to ${maximum}`]),
    ...(maxLength === undefined ? [] : [`at most ${maxLength} characters`]),
    ...(maxItems === undefined ? [] : [`at most ${maxItems} items`]),
    ...(preset === undefined ? [] : [`default ${preset}`]),
  ]);
  return [plain(schema.description ?? ""), facts.join(" ")].filter((text) => text !== "").join("; ");
}

/**
 * @param {string[]} head
 * @param {string[]} rows
 */
function table(head, rows) {
  return `${row(head)}${row(head.map(() => "---"))}${rows.join("")}`;
}

/** @param {string[]} cells */
function row(cells) {
  return `|${cells.map((cell) => ` ${cell.replaceAll("|", "\\|")} |`).join("")}\n`;
}

/** @param {string} text */
function code(text) {
  return `\`${text}\``;
}

/**
 * Text of the document, escaped so that only code is markup.
 *
 * @param {string} text
 */
function plain(text) {
  return text.replaceAll(/[<>*_[\]\\]/g, "\\$&");
}
