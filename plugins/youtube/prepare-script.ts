// Makes of YouTube's player script one that can be run without a browser and that offers what unlocks links: everything
// that only acts is cut out, and whatever looks like the right function is offered by name. Nothing is run here.
// Solver thread.

import { type ESTree, parseScript } from "meriyah";

const CANDIDATES_MAX = 8;
/** Name of the function in `sandbox.ts` through which the script exports its functions. */
export const OFFER = "tonearmOffer";

interface Cut {
  readonly start: number;
  readonly end: number;
  readonly by: string;
}

/** Code for the sandbox. Throws an Error that describes the unexpected part of the script. */
export function prepareScript(script: string): string {
  const body = largestFunction(parsed(script));
  if (body === undefined) throw new Error("the player script has no function around it");
  const statements = body.body;
  const names = statements.flatMap((statement) => candidatesIn(statement, script)).slice(0, CANDIDATES_MAX);
  if (names.length === 0) throw new Error("the player script has no function that unlocks links");
  const offers = names.map((name) => `;${OFFER}(function(){return(${name}).apply(this,arguments)})`).join("");
  const last = endOf(body) - 1;
  return cut(script, [...statements.flatMap(cutsOf), { start: last, end: last, by: `${offers};` }]);
}

function parsed(script: string): ESTree.Program {
  try {
    return parseScript(script, { ranges: true, next: true });
  } catch (cause) {
    // Only the position: the parser's message contains pieces of the script.
    const location = /^\[(\d+:\d+)/.exec(cause instanceof Error ? cause.message : "")?.[1];
    throw new Error(`the player script cannot be read${location === undefined ? "" : ` from ${location} on`}`, {
      cause,
    });
  }
}

/** The body of the function that is called at once and holds nearly everything. */
function largestFunction(program: ESTree.Program): ESTree.BlockStatement | undefined {
  const bodies = program.body.flatMap((statement) => {
    if (statement.type !== "ExpressionStatement" || statement.expression.type !== "CallExpression") return [];
    const { callee } = statement.expression;
    const called = callee.type === "MemberExpression" ? callee.object : callee;
    if (called.type !== "FunctionExpression" && called.type !== "ArrowFunctionExpression") return [];
    return called.body?.type === "BlockStatement" ? [called.body] : [];
  });
  return bodies.toSorted((a, b) => endOf(b) - startOf(b) - (endOf(a) - startOf(a)))[0];
}

/** How functions are called that set `alr` to `yes`: they make a link out of a locked one. */
function candidatesIn(statement: ESTree.Statement, script: string): string[] {
  return functionsOf(statement)
    .filter(({ body }) => body.some(setsTheMark))
    .map(({ name }) => script.slice(startOf(name), endOf(name)));
}

interface NamedFunction {
  readonly name: ESTree.Node;
  readonly body: readonly ESTree.Statement[];
}

/** `function f(){}`, `var f=function(){}` and `f=function(){}`. */
function functionsOf(statement: ESTree.Statement): NamedFunction[] {
  switch (statement.type) {
    case "FunctionDeclaration":
      return statement.id && statement.body ? [{ name: statement.id, body: statement.body.body }] : [];
    case "VariableDeclaration":
      return statement.declarations.flatMap(({ id, init }) => named(id, init));
    case "ExpressionStatement": {
      const { expression } = statement;
      return expression.type === "AssignmentExpression" ? named(expression.left, expression.right) : [];
    }
    default:
      return [];
  }
}

function named(name: ESTree.Node, value: ESTree.Node | null | undefined): NamedFunction[] {
  const isName = name.type === "Identifier" || name.type === "MemberExpression";
  if (!isName || value?.type !== "FunctionExpression" || !value.body) return [];
  return [{ name, body: value.body.body }];
}

/** As a separate statement, or as one of several with commas between. */
function setsTheMark(statement: ESTree.Statement): boolean {
  if (statement.type !== "ExpressionStatement") return false;
  const { expression } = statement;
  return (expression.type === "SequenceExpression" ? expression.expressions : [expression]).some((part) => {
    if (part.type !== "CallExpression" || part.callee.type !== "MemberExpression") return false;
    const [name, value] = part.arguments;
    return isText(name, "alr") && isText(value, "yes");
  });
}

function isText(node: ESTree.Node | undefined, text: string): boolean {
  return node?.type === "Literal" && node.value === text;
}

/**
 * Calls go; what defines something stays, and does without a value that cannot be made without those calls. `this`
 * would be nothing, or not the window.
 */
function cutsOf(statement: ESTree.Statement): Cut[] {
  if (statement.type === "VariableDeclaration") return statement.declarations.flatMap(({ init }) => guarded(init));
  if (statement.type !== "ExpressionStatement") return [];
  const { expression } = statement;
  if (expression.type === "AssignmentExpression") return guarded(expression.right);
  if (expression.type === "Literal") return [];
  return [{ start: startOf(statement), end: endOf(statement), by: ";" }];
}

function guarded(value: ESTree.Node | null | undefined): Cut[] {
  if (value?.type === "ThisExpression") return [{ start: startOf(value), end: endOf(value), by: "globalThis" }];
  if (value?.type !== "CallExpression" && value?.type !== "NewExpression") return [];
  return [
    { start: startOf(value), end: startOf(value), by: "(()=>{try{return " },
    { start: endOf(value), end: endOf(value), by: "}catch{}})()" },
  ];
}

function cut(script: string, cuts: readonly Cut[]): string {
  const parts: string[] = [];
  let position = 0;
  for (const { start, end, by } of cuts) {
    parts.push(script.slice(position, start), by);
    position = end;
  }
  return parts.join("") + script.slice(position);
}

function startOf({ start }: ESTree.Node): number {
  if (start === undefined) throw new Error("the parser gave no positions");
  return start;
}

function endOf({ end }: ESTree.Node): number {
  if (end === undefined) throw new Error("the parser gave no positions");
  return end;
}
