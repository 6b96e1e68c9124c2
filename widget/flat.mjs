/**
 * Classes as functions that make an object: what is private becomes a variable, which a letter can
 * stand for, and a method of one call goes where it is called. The sources stay classes.
 */

import { parse } from "acorn";
import MagicString from "magic-string";

/** `code`, a script, with each of its classes that extends nothing written so. */
export function flat(code) {
  const text = new MagicString(code);
  const tree = parse(code, { ecmaVersion: 2022, sourceType: "module" });
  const classes = new Map();
  walk(tree, ({ type, id, init, kind, start }) => {
    // The same to a browser, and shorter.
    if (type === "VariableDeclaration" && kind === "const") text.overwrite(start, start + 5, "let");
    if (init?.type === "ClassExpression" && !init.superClass) classes.set(id.name, init);
  });
  walk(tree, ({ type, start, end, callee }) => {
    if (type !== "NewExpression" || !classes.has(callee.name)) return;
    text.remove(start, callee.start);
    // `new` is content without brackets.
    if (end === callee.end) text.appendLeft(end, "()");
  });
  [...classes.values()].forEach((node, at) => {
    flatten(text, node, `_${at}`);
  });
  return text.toString();
}

/** In the order of the language: methods, then fields, then what the constructor does. */
function flatten(text, { start, end, body }, prefix) {
  const self = `${prefix}self`;
  const made = body.body.find(({ kind }) => kind === "constructor")?.value;
  const taken = new Map(made && taking(text, body, made, prefix));
  rename(text, body, prefix, self);
  for (const statement of taken.values()) text.remove(statement.start, statement.end);
  const of = (node) => text.slice(node.start, node.end);
  const [methods, lines] = [[], []];
  for (const member of body.body) {
    const { type, kind, key, value } = member;
    const isPrivate = key.type === "PrivateIdentifier";
    const name = `${isPrivate ? prefix : `${self}.`}${key.name}`;
    if (member.static || member.computed || value?.generator || (isPrivate && kind === "get")) {
      throw new Error(`Nobody has thought of this yet: ${of(member)}`);
    } else if (type === "PropertyDefinition") {
      if (isPrivate && !taken.has(key.name))
        lines.push(`let ${name}${value ? `=${of(value)}` : ""}`);
      else if (!isPrivate && value) lines.push(`${name}=${of(value)}`);
    } else if (isPrivate) {
      lines.push(`${value.async ? "async " : ""}function ${name}${of(value)}`);
    } else if (value !== made) methods.push(of(member));
  }
  if (made) lines.push(text.slice(made.body.start + 1, made.body.end - 1));
  const given = made?.params.map(of) ?? "";
  const lived = `let ${self}={${methods}};${lines.join(";")};return ${self}`;
  text.overwrite(start, end, `function(${given}){${lived}}`);
}

/** Private fields that only ever hold a parameter, each with what sets it: they are one variable. */
function taking(text, body, made, prefix) {
  return made.body.body.flatMap((statement) => {
    const { left, right } = statement.expression ?? {};
    const field = left?.property?.type === "PrivateIdentifier" && left.property.name;
    const isGiven = field && made.params.some(({ name }) => name && name === right.name);
    if (!isGiven || timesSet(body, field) > 1 || isDeclared(made.body, right.name)) return [];
    walk(made, (node, parent) => {
      if (node.type !== "Identifier" || node.name !== right.name) return node !== statement;
      const isValue = parent.value === node;
      if (!isValue && (parent.key === node || parent.property === node)) return false;
      const key = isValue && parent.shorthand ? `${node.name}:` : "";
      text.overwrite(node.start, node.end, key + prefix + field);
      return false;
    });
    return [[field, statement]];
  });
}

function timesSet(body, field) {
  let times = 0;
  const count = ({ type, name }) => {
    if (type === "PrivateIdentifier" && name === field) times += 1;
  };
  walk(body, ({ type, left, argument }) => {
    if (type === "AssignmentExpression") walk(left, count);
    if (type === "UpdateExpression") walk(argument, count);
  });
  return times;
}

/** Whether `name` means something else in a part of `body`. */
function isDeclared(body, name) {
  let isFound = false;
  const find = (node) => {
    isFound ||= node.name === name;
  };
  walk(body, ({ id, params = [] }) => {
    for (const declared of [id ?? [], ...params]) walk(declared, find);
  });
  return isFound;
}

/** `this.#name` and `this`, wherever they mean the object that is made. */
function rename(text, body, prefix, self) {
  walk(body, ({ type, start, end, property }) => {
    if (type === "ThisExpression") text.overwrite(start, end, self);
    if (property?.type !== "PrivateIdentifier") return true;
    text.overwrite(start, end, prefix + property.name);
    return false;
  });
}

/** Visits `node` and what is in it, unless `visit` returns false. */
function walk(node, visit, parent) {
  if (visit(node, parent) === false) return;
  for (const value of Object.values(node)) {
    for (const child of [value].flat()) if (child?.type) walk(child, visit, node);
  }
}
