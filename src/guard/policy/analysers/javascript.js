// SPDX-License-Identifier: Apache-2.0
// Facts about JavaScript programs, found with the parser that Node.js carries. Reads units.json and
// prints a line of facts for each; runs none of the programs.
//
// Runs inside walls: what it reads is hostile, and what it prints is trusted no more than that.
'use strict';
const fs = require('fs');
const path = require('path');
const acorn = require('internal/deps/acorn/acorn/dist/acorn');
const builtin = new Set(require('module').builtinModules);

const MOST = 20000;
const MOST_TEXT = 256 * 1024;
const MAX_DEPTH = 8;
const ROOTS = new Set(['globalThis', 'global', 'window', 'self']);
const GLOBALS = new Set(['eval', 'Function', 'process', 'require', 'setTimeout', 'setInterval', 'fetch',
  'WebSocket', 'XMLHttpRequest', 'Buffer', 'atob', 'module', 'Reflect', 'String', 'Deno', 'Bun',
  'WebAssembly', 'importScripts', 'decodeURIComponent', 'unescape']);
const SHELL_CALLS = new Set(['child_process.exec', 'child_process.execSync']);
const ARGV_CALLS = new Set(['child_process.spawn', 'child_process.spawnSync', 'child_process.execFile',
  'child_process.execFileSync']);
const FILE_CALLS = /^fs\.(promises\.)?(read|write|append|unlink|rm|rmdir|mkdir|open|create|copyFile|rename|chmod|chown|truncate|readdir|symlink|stat|access)/;
const URLS = /\b(?:https?|ftp|wss?):\/\/(?:[^\s/@'"]*@)?(\[[0-9a-fA-F:]+\]|[^\s/:?#'"\\]+)/g;
const TOKENS = /AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|xox[abpr]-[0-9A-Za-z-]{20}|sk-[A-Za-z0-9_-]{32}|AIza[0-9A-Za-z_-]{35}|-----BEGIN [A-Z ]*PRIVATE KEY-----/;
const SECRET_NAMES = /(^|_)(password|passwd|pwd|secret|token|api_?key|access_?key)$/i;

class Program {
  constructor(facts, place, depth) {
    this.facts = facts;
    this.place = place;
    this.depth = depth;
    this.bound = new Map();
    this.busy = new Set();
    this.budget = 200000;
  }

  add(kind, name, node, more = {}) {
    const [line, column] = this.place || [node.loc.start.line, node.loc.start.column + 1];
    const fact = {kind, name: String(name).slice(0, kind === 'shell' ? 60000 : 1000), line, column, ...more};
    const key = JSON.stringify(fact);
    if (!this.facts.has(key) && this.facts.size < MOST) this.facts.set(key, fact);
    if (this.facts.size === MOST) {
      this.facts.set('', {kind: 'unparsed', name: 'there is too much in it to follow', line, column});
    }
  }

  bind(name, value) {
    const known = this.bound.get(name) || [];
    if (known.length < 8) known.push(value);
    this.bound.set(name, known);
  }

  // All that an expression may stand for: {name} for what begins at a module or a global, {text} for
  // a constant. Only operations on constants are computed.
  of(node) {
    if (!node || --this.budget < 0) return [];
    const method = this['of' + node.type];
    return method ? method.call(this, node).slice(0, 8) : [];
  }

  names(node) { return this.of(node).filter((value) => value.name).map((value) => value.name); }
  constants(node) { return this.of(node).filter((value) => 'text' in value).map((value) => value.text); }
  texts(node) { return this.constants(node).filter((value) => typeof value === 'string'); }

  ofLiteral(node) { return node.regex ? [] : [{text: node.value}]; }
  ofChainExpression(node) { return this.of(node.expression); }
  ofAwaitExpression(node) { return this.of(node.argument); }
  ofParenthesizedExpression(node) { return this.of(node.expression); }
  ofAssignmentExpression(node) { return this.of(node.right); }
  ofSequenceExpression(node) { return this.of(node.expressions[node.expressions.length - 1]); }
  ofConditionalExpression(node) { return [...this.of(node.consequent), ...this.of(node.alternate)]; }
  ofLogicalExpression(node) { return [...this.of(node.left), ...this.of(node.right)]; }

  ofIdentifier(node) {
    const name = node.name;
    if (this.bound.has(name)) {
      if (this.busy.has(name)) return [];
      this.busy.add(name);
      const found = this.bound.get(name).flatMap((value) => value.type ? this.of(value) : [value]);
      this.busy.delete(name);
      return found;
    }
    return GLOBALS.has(name) || ROOTS.has(name) || builtin.has(name) ? [{name}] : [];
  }

  ofTemplateLiteral(node) {
    let text = node.quasis[0].value.cooked;
    for (let i = 0; i < node.expressions.length; i++) {
      const values = this.constants(node.expressions[i]);
      if (!values.length) return [];
      text += String(values[0]) + node.quasis[i + 1].value.cooked;
    }
    return [{text}];
  }

  ofArrayExpression(node) {
    const items = node.elements.slice(0, 4096).map((item) => this.constants(item));
    return items.every((item) => item.length) ? [{text: items.map((item) => item[0])}] : [];
  }

  ofBinaryExpression(node) {
    const found = [];
    for (const left of this.constants(node.left)) {
      for (const right of this.constants(node.right)) {
        const numbers = typeof left === 'number' && typeof right === 'number';
        if (node.operator === '+' && [left, right].every((each) => /^(string|number)$/.test(typeof each))) {
          if (String(left).length + String(right).length < MOST_TEXT) found.push({text: left + right});
        } else if (numbers && node.operator === '-') {
          found.push({text: left - right});
        } else if (numbers && node.operator === '^') {
          found.push({text: left ^ right});
        }
      }
    }
    return found;
  }

  keys(node) { return node.computed ? this.constants(node.property).map(String) : [node.property.name]; }

  ofMemberExpression(node) {
    const found = [];
    for (const key of this.keys(node)) {
      for (const name of this.names(node.object)) found.push({name: join(name, key)});
      if (key === 'constructor' && !this.names(node.object).length) found.push({name: 'constructor'});
      for (const value of this.constants(node.object)) {
        if (typeof value !== 'object' && key !== 'constructor') continue;
        const item = Array.isArray(value) && /^\d+$/.test(key) ? value[key] : undefined;
        if (item !== undefined) found.push({text: item});
      }
    }
    if (node.object.type === 'ArrayExpression') {
      for (const item of node.object.elements.slice(0, 8)) found.push(...this.names(item).map((name) => ({name})));
    }
    return found;
  }

  ofImportExpression(node) {
    return this.texts(node.source).map((text) => ({name: moduleName(text)}));
  }

  ofNewExpression(node) { return this.names(node.callee).map((name) => ({name: name + '()'})); }

  ofCallExpression(node) {
    const first = node.arguments[0];
    const found = [];
    for (const name of this.names(node.callee)) {
      if (isRequire(name)) {
        found.push(...this.texts(first).map((text) => ({name: moduleName(text)})));
        continue;
      }
      const text = this.texts(first)[0];
      const codes = node.arguments.map((each) => this.constants(each)[0]);
      if (name === 'String.fromCharCode' && codes.every((code) => typeof code === 'number')) {
        found.push({text: String.fromCharCode(...codes)});
      } else if (text !== undefined && name === 'atob') {
        found.push({text: Buffer.from(text, 'base64').toString('latin1')});
      } else if (text !== undefined && name === 'Buffer.from') {
        found.push({text: Buffer.from(text, encoding(codes[1]))});
      } else if (text !== undefined && (name === 'decodeURIComponent' || name === 'unescape')) {
        try { found.push({text: decodeURIComponent(text)}); } catch { /* Not a constant, then. */ }
      } else if (name === 'Reflect.get') {
        for (const owner of this.names(first)) {
          found.push(...this.texts(node.arguments[1]).map((key) => ({name: join(owner, key)})));
        }
      } else if (/\.(bind)$/.test(name)) {
        found.push({name: name.slice(0, -5)});
      } else {
        found.push({name: name + '()'});
      }
    }
    if (node.callee.type === 'MemberExpression') {
      for (const value of this.constants(node.callee.object)) {
        for (const key of this.keys(node.callee)) {
          const text = method(value, key, node.arguments.map((each) => this.constants(each)[0]));
          if (text !== undefined && text.length < MOST_TEXT) found.push({text});
        }
      }
    }
    return found;
  }

  collect(tree) {
    for (const node of walk(tree)) {
      if (node.type === 'VariableDeclarator' && node.init) {
        this.bindPattern(node.id, node.init);
      } else if (node.type === 'AssignmentExpression') {
        this.bindPattern(node.left, node.right);
      } else if (node.type === 'ImportDeclaration') {
        for (const each of node.specifiers) {
          const name = moduleName(node.source.value);
          this.bind(each.local.name, {name: each.type === 'ImportSpecifier'
            ? join(name, each.imported.name || each.imported.value) : name});
        }
      } else if (/Function/.test(node.type)) {
        for (const each of node.params) {
          if (each.type === 'Identifier' && !this.bound.has(each.name)) this.bound.set(each.name, []);
          if (each.type === 'AssignmentPattern') this.bindPattern(each.left, each.right);
        }
        if (node.id && !this.bound.has(node.id.name)) this.bound.set(node.id.name, []);
      }
    }
  }

  bindPattern(target, value) {
    if (target.type === 'Identifier') {
      this.bind(target.name, value);
    } else if (target.type === 'ObjectPattern') {
      for (const each of target.properties) {
        if (each.type !== 'Property') continue;
        const member = {type: 'MemberExpression', object: value, property: each.key,
          computed: each.computed || each.key.type === 'Literal'};
        this.bindPattern(each.value.type === 'AssignmentPattern' ? each.value.left : each.value, member);
      }
    } else if (target.type === 'ArrayPattern' && value.type === 'ArrayExpression') {
      target.elements.forEach((each, at) => each && value.elements[at] && this.bindPattern(each, value.elements[at]));
    }
  }

  report(tree) {
    for (const node of walk(tree)) {
      if (node.type === 'ImportDeclaration' || node.type === 'ExportAllDeclaration' ||
          (node.type === 'ExportNamedDeclaration' && node.source)) {
        this.add('module', moduleName(node.source.value), node);
      } else if (node.type === 'Identifier' || node.type === 'MemberExpression') {
        for (const name of this.names(node)) {
          if (name !== 'constructor') this.use(name, node);
        }
        if (node.type === 'MemberExpression') {
          for (const key of this.keys(node)) {
            if (/^(__\w+__|mainModule|constructor)$/.test(key)) this.add('attribute', key, node);
          }
          const owner = this.names(node.object);
          if (node.computed && owner.length && !this.constants(node.property).length) {
            this.add('pattern', 'dynamic-attribute', node);
          }
        }
      } else if (node.type === 'CallExpression' || node.type === 'NewExpression') {
        for (const name of this.names(node.callee)) {
          if (node.callee.type === 'CallExpression' && name !== 'constructor') this.use(name, node);
          this.called(name, node);
        }
      } else if (node.type === 'ImportExpression') {
        const texts = this.texts(node.source);
        texts.forEach((text) => this.add('module', moduleName(text), node));
        if (!texts.length) this.add('pattern', 'dynamic-import', node);
      } else if (node.type === 'Literal' || node.type === 'TemplateElement') {
        const text = node.type === 'Literal' ? node.value : node.value.cooked;
        if (typeof text !== 'string') continue;
        for (const match of text.matchAll(URLS)) this.add('host', match[1].toLowerCase(), node);
        if (TOKENS.test(text)) this.add('pattern', 'credential', node);
      } else if (node.type === 'VariableDeclarator' || node.type === 'Property') {
        const name = (node.id || node.key || {}).name || '';
        const value = node.init || node.value;
        if (SECRET_NAMES.test(name) && value && value.type === 'Literal' && /^\S{6,}$/.test(value.value)) {
          this.add('pattern', 'credential', node);
        }
      } else if (node.type === 'WhileStatement' || node.type === 'ForStatement') {
        const endless = node.test ? this.constants(node.test).some((value) => value === true || value === 1)
          : node.type === 'ForStatement';
        const leaves = /^(BreakStatement|ReturnStatement|ThrowStatement|YieldExpression|AwaitExpression)$/;
        if (endless && ![...walk(node.body)].some((each) => leaves.test(each.type))) {
          this.add('pattern', 'endless-loop', node);
        }
      }
    }
    if (this.budget < 0) this.add('unparsed', 'the program is too entangled to follow', tree);
  }

  use(name, node) {
    this.add('name', name, node);
    const root = name.split('.')[0].replace('()', '');
    if (builtin.has(root) && !['process', 'module', 'buffer', 'console'].includes(root)) this.add('module', root, node);
  }

  called(name, node) {
    const first = node.arguments[0];
    if (isRequire(name)) {
      const texts = this.texts(first);
      texts.forEach((text) => this.add('module', moduleName(text), node));
      if (!texts.length && !/resolve/.test(name)) this.add('pattern', 'dynamic-import', node);
    } else if (['eval', 'Function', 'constructor', 'vm.runInThisContext', 'vm.runInNewContext', 'vm.Script',
      'constructor.constructor'].includes(name) || (/^(setTimeout|setInterval)$/.test(name) && this.texts(first).length)) {
      const code = name === 'Function' || /constructor/.test(name) ? node.arguments[node.arguments.length - 1] : first;
      const texts = this.texts(code);
      if (/^set/.test(name)) this.add('name', 'eval', node);
      if (/constructor/.test(name)) {
        if (!code || (!texts.length && code.type !== 'Identifier')) return;
        this.add('name', 'Function', node);
      }
      texts.forEach((text) => analyse(text, this.facts, this.depth + 1,
        this.place || [node.loc.start.line, node.loc.start.column + 1]));
      if (!texts.length) this.add('pattern', 'dynamic-code', node);
    } else if (SHELL_CALLS.has(name)) {
      const texts = this.texts(first);
      texts.forEach((text) => this.add('shell', text, node));
      if (!texts.length) this.add('pattern', 'dynamic-command', node);
    } else if (ARGV_CALLS.has(name)) {
      const programs = this.texts(first);
      for (const program of programs) {
        const list = node.arguments[1];
        const words = list && list.type === 'ArrayExpression'
          ? list.elements.slice(0, 255).map((each) => String(this.constants(each)[0] ?? '$?')) : [];
        // Quoted, so that the analyser of shell scripts sees these words and no others.
        this.add('shell', [program, ...words].map((word) => "'" + word.replace(/'/g, "'\\''") + "'").join(' '), node);
      }
      if (!programs.length) this.add('pattern', 'dynamic-command', node);
    } else if (FILE_CALLS.test(name)) {
      const mode = /read|stat|access/i.test(name) ? 'read' : 'write';
      this.texts(first).forEach((text) => this.add('file', text, node, {mode}));
    }
  }
}

function isRequire(name) {
  return /^(require|module\.require|process\.mainModule\.require|module\.createRequire\(\)|process\.getBuiltinModule|module\.constructor\._load|module\._load)$/.test(name);
}

function encoding(name) { return ['hex', 'base64', 'base64url', 'latin1', 'utf16le'].includes(name) ? name : 'utf8'; }

function moduleName(text) {
  const name = text.replace(/^node:/, '');
  return builtin.has(name) ? name.replace(/\//g, '.') : name.replace(/^\.{1,2}\//, './');
}

function join(name, key) {
  if (ROOTS.has(name)) return key;
  if (key === 'default' || /^(call|apply)$/.test(key)) return name;
  return name + '.' + key;
}

// What a method of a constant returns, where that is a text or a list.
function method(value, key, args) {
  if (args.some((arg) => arg === undefined)) return undefined;
  try {
    if (typeof value === 'string' && ['concat', 'toLowerCase', 'toUpperCase', 'trim', 'slice', 'substring',
      'replace', 'replaceAll', 'split'].includes(key)) return value[key](...args);
    if (Array.isArray(value) && (key === 'join' || key === 'reverse')) return [...value][key](...args);
    if (Buffer.isBuffer(value) && key === 'toString') return value.toString(encoding(args[0]));
  } catch { /* Not a constant, then. */ }
  return undefined;
}

// All nodes below one, without recursion: hostile programs nest deeply.
function* walk(tree) {
  const stack = [tree];
  while (stack.length) {
    const node = stack.pop();
    yield node;
    const children = [];
    for (const key of Object.keys(node)) {
      const value = node[key];
      // The name of a property is no variable.
      const plain = !node.computed && ((node.type === 'MemberExpression' && key === 'property') ||
        (key === 'key' && !node.shorthand)) || /Specifier$/.test(node.type) || key === 'label';
      if (plain && value && value.type === 'Identifier') continue;
      for (const each of Array.isArray(value) ? value : [value]) {
        if (each && typeof each.type === 'string' && each.loc) children.push(each);
      }
    }
    stack.push(...children.reverse());
  }
}

function parse(code) {
  const options = {ecmaVersion: 'latest', locations: true, allowHashBang: true,
    allowReturnOutsideFunction: true, allowAwaitOutsideFunction: true};
  try {
    return acorn.parse(code, {...options, sourceType: 'script'});
  } catch {
    return acorn.parse(code, {...options, sourceType: 'module'});
  }
}

function analyse(code, facts, depth = 0, place = undefined) {
  const program = new Program(facts, place, depth);
  try {
    if (depth > MAX_DEPTH) throw new Error('code is nested too deeply to follow');
    const tree = parse(code);
    program.collect(tree);
    program.report(tree);
  } catch (problem) {
    const at = problem.loc ? {start: problem.loc} : {start: {line: 1, column: 0}};
    const what = problem instanceof RangeError ? 'it is nested too deeply' : problem.message;
    program.add('unparsed', 'JavaScript cannot be parsed: ' + what, {loc: at});
  }
}

const units = JSON.parse(fs.readFileSync(path.join(__dirname, 'units.json'), 'utf8'));
for (const unit of units) {
  const facts = new Map();
  analyse(unit.code, facts);
  fs.writeSync(1, JSON.stringify([...facts.values()]) + '\n');
}
