// SPDX-License-Identifier: Apache-2.0
// Turns a cell into a script for the global scope. Declarations at the top level become assignments to properties of the
// global object, so that they outlive the cell and can be declared anew; the price is that nothing keeps a `const` from being set.
// A cell with `await` or `import` is put into an async function. Lines and columns of the result can be mapped back.

import {loadAcorn} from './internals.mjs';
import {Array, JSON, Object} from './primordials.mjs';

/** The global object's property that holds what generated code calls. */
export const HELPER = '__glovebox';

const OPTIONS = {
  ecmaVersion: 'latest',
  sourceType: 'script',
  allowAwaitOutsideFunction: true,
  allowImportExportEverywhere: true,
  allowHashBang: true,
};

let acorn;

/** @returns an ESTree program; throws acorn's SyntaxError (with `pos`, `loc`, `raisedAt`). */
export function parse(code) {
  acorn ??= loadAcorn();
  return acorn.parse(code, OPTIONS);
}

function patternNames(pattern, names) {
  switch (pattern?.type) {
    case 'Identifier': names.push(pattern.name); break;
    case 'ObjectPattern':
      for (const property of pattern.properties) patternNames(property.value ?? property.argument, names);
      break;
    case 'ArrayPattern': for (const element of pattern.elements) patternNames(element, names); break;
    case 'AssignmentPattern': patternNames(pattern.left, names); break;
    case 'RestElement': patternNames(pattern.argument, names); break;
    default: break;
  }
  return names;
}

const isFunction = (node) => /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type);

/** Calls visit for each node; where visit gives false, the node's children are left out. */
function walk(node, parent, visit) {
  if (visit(node, parent) === false) return;
  for (const key of Object.keys(node)) {
    const child = node[key];
    if (Array.isArray(child)) {
      for (const item of child) if (typeof item?.type === 'string') walk(item, node, visit);
    } else if (typeof child?.type === 'string') {
      walk(child, node, visit);
    }
  }
}

class Cell {
  names = [];
  isAsync = false;
  hasResult = false;
  #code;
  #edits = [];
  #functions = [];
  #imports = [];

  constructor(code) {
    this.#code = code;
    const program = parse(code);
    this.#scan(program);
    const {body} = program;
    body.forEach((node) => this.#statement(node));
    const last = body.findLast((node) => node.type !== 'EmptyStatement');
    if (last?.type === 'ExpressionStatement') {
      this.hasResult = true;
      if (this.isAsync) this.#edit(last.start, last.start, 'return ');
    }
    if (this.isAsync) {
      // Functions have to be known before the first line runs, and to be globals; so they are a script of their own.
      for (const node of this.#functions) this.#edit(node.start, node.end, ';');
      this.#edits.push({start: 0, end: 0, text: '(async () => {', order: -1});
      this.#edit(code.length, code.length, '\n})()');
    }
    const inserts = ({start, end}) => start === end;
    this.#edits.sort((a, b) => a.start - b.start || inserts(b) - inserts(a) || a.order - b.order);
  }

  /** What holds at any depth of the cell, outside of functions. */
  #scan(program) {
    walk(program, null, (node, parent) => {
      if (node.type === 'AwaitExpression' || (node.type === 'ForOfStatement' && node.await)) this.isAsync = true;
      if (node.type === 'VariableDeclaration' && node.kind === 'var' && parent !== program) this.#nestedVar(node, parent);
      if (isFunction(node) || node.type === 'StaticBlock') return false;
      if (node.type === 'PropertyDefinition' && !node.computed) return false;
      return true;
    });
    if (this.#code.includes('import')) walk(program, null, (node) => this.#replaceImport(node));
    if (program.body.some((node) => node.type === 'ImportDeclaration')) this.isAsync = true;
  }

  /** A script has neither `import.meta` nor, on all versions of Node, a loader behind `import()`. */
  #replaceImport(node) {
    const isMeta = node.type === 'MetaProperty' && node.meta.name === 'import';
    if (!isMeta && node.type !== 'ImportExpression') return;
    const end = isMeta ? node.end : node.start + 'import'.length;
    const text = `${HELPER}.${isMeta ? 'meta' : 'import'}`;
    this.#imports.push({start: node.start, end, text});
    this.#edit(node.start, end, text);
  }

  #statement(node) {
    switch (node.type) {
      case 'VariableDeclaration': this.#declaration(node); break;
      case 'FunctionDeclaration': this.#function(node); break;
      case 'ClassDeclaration': this.#class(node); break;
      case 'ImportDeclaration': this.#import(node); break;
      case 'ExportNamedDeclaration':
        this.#edit(node.start, node.declaration?.start ?? node.end, ';');
        if (node.declaration) this.#statement(node.declaration);
        break;
      case 'ExportDefaultDeclaration':
        if (node.declaration.id && /Declaration$/.test(node.declaration.type)) {
          this.#edit(node.start, node.declaration.start, ';');
          this.#statement(node.declaration);
        } else {
          this.#edit(node.start, node.declaration.start, `;${HELPER}.exported = `);
        }
        break;
      case 'ExportAllDeclaration': this.#edit(node.start, node.end, ';'); break;
      default: break;
    }
  }

  #declaration(node) {
    for (const {id} of node.declarations) patternNames(id, this.names);
    this.#edit(node.start, node.declarations[0].start, ';(');
    this.#initialise(node);
    this.#edit(node.declarations.at(-1).end, node.declarations.at(-1).end, ');');
  }

  #initialise(node) {
    // `let x` sets undefined each time it is met, `var x` leaves what there is.
    if (node.kind === 'var') return;
    for (const {id, init} of node.declarations) if (!init) this.#edit(id.end, id.end, ' = void 0');
  }

  #nestedVar(node, parent) {
    for (const {id} of node.declarations) patternNames(id, this.names);
    const inHead = /^For(In|Of)?Statement$/.test(parent.type) && parent.body !== node;
    // In a list of statements it must not join the one before or after it; elsewhere it has to stay one statement.
    const inList = /^(BlockStatement|SwitchCase)$/.test(parent.type);
    const [open, close] = inHead ? ['', ''] : inList ? [';(', ');'] : ['(', ')'];
    this.#edit(node.start, node.declarations[0].start, open);
    this.#edit(node.declarations.at(-1).end, node.declarations.at(-1).end, close);
  }

  #function(node) {
    this.names.push(node.id.name);
    this.#functions.push(node);
  }

  #class(node) {
    this.names.push(node.id.name);
    this.#edit(node.start, node.start, `;${node.id.name} = `);
    this.#edit(node.end, node.end, ';');
  }

  #import(node) {
    const wanted = [];
    const bindings = [];
    let namespace = '';
    for (const {type, local, imported} of node.specifiers) {
      this.names.push(local.name);
      if (type === 'ImportNamespaceSpecifier') {
        namespace = `${local.name} = `;
      } else {
        const name = type === 'ImportDefaultSpecifier' ? 'default' : imported.name ?? imported.value;
        wanted.push(name);
        bindings.push(`${JSON.stringify(name)}: ${local.name}`);
      }
    }
    const attributes = Object.fromEntries((node.attributes ?? [])
      .map(({key, value}) => [key.name ?? key.value, value.value]));
    const args = [node.source.value, wanted, attributes].map((value) => JSON.stringify(value)).join(', ');
    const pattern = bindings.length > 0 ? `{${bindings.join(', ')}} = ` : '';
    this.#edit(node.start, node.end, `;(${pattern}${namespace}await ${HELPER}.load(${args}));`);
  }

  #edit(start, end, text) {
    this.#edits.push({start, end, text, order: this.#edits.length});
  }

  /** The script that declares the functions of an async cell, each where it stood; null where there is none. */
  functionScript() {
    if (!this.isAsync || this.#functions.length === 0) return null;
    let script = '';
    let offset = 0;
    const blank = (text) => text.replace(/[^\n\r\u2028\u2029]/g, ' ');
    for (const {start, end} of this.#functions) {
      script += blank(this.#code.slice(offset, start));
      offset = start;
      for (const inner of this.#imports.filter((place) => place.start > start && place.end < end)) {
        script += this.#code.slice(offset, inner.start) + inner.text;
        offset = inner.end;
      }
      script += this.#code.slice(offset, end);
      offset = end;
    }
    return script;
  }

  script() {
    let script = '';
    let offset = 0;
    for (const {start, end, text} of this.#edits) {
      if (start < offset) continue;  // inside of something replaced as a whole
      script += this.#code.slice(offset, start) + text;
      offset = end;
    }
    return script + this.#code.slice(offset);
  }

  /** The place in the cell (line and column from 1) that a place in script() came from. */
  original(line, column) {
    const target = offsetOf(this.script(), line, column);
    let shift = 0;
    let last = 0;
    for (const {start, end, text} of this.#edits) {
      if (start < last) continue;
      last = end;
      if (start + shift > target) break;
      if (target < start + shift + text.length) return placeOf(this.#code, start);
      shift += text.length - (end - start);
    }
    return placeOf(this.#code, target - shift);
  }
}

function offsetOf(text, line, column) {
  let start = 0;
  for (let i = 1; i < line; i++) start = text.indexOf('\n', start) + 1;
  return start + column - 1;
}

function placeOf(text, offset) {
  const before = text.slice(0, offset);
  return {line: before.split('\n').length, column: offset - before.lastIndexOf('\n')};
}

/** @returns a Cell; throws acorn's SyntaxError. */
export function transform(code) {
  // As in Node's REPL, a cell such as `{a: 1}` is meant as an object.
  if (/^\s*\{/.test(code) && !/;\s*$/.test(code)) {
    try {
      return new Cell(`(${code}\n)`);
    } catch {
      // It is a block.
    }
  }
  return new Cell(code);
}
