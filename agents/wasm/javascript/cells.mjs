// SPDX-License-Identifier: Apache-2.0
// Cells as scripts for the global scope. What a cell declares at its top level becomes a property of the global object, so that
// it outlives the cell, can be declared anew, and is seen among the variables; the price is that nothing keeps a `const` from
// being set. QuickJS has no parser to ask, so this goes through the tokens: lines stay lines, and columns nearly columns.

const TOKEN = /(?<space>[^\S\n\r\u2028\u2029]+)|(?<line>[\n\r\u2028\u2029]+)|(?<comment>\/\/.*|\/\*[^]*?(?:\*\/|$))|(?<text>"(?:[^"\\\n]|\\[^])*"?|'(?:[^'\\\n]|\\[^])*'?)|(?<word>[#\p{ID_Start}$_\\][\p{ID_Continue}$\u200c\u200d\\]*)|(?<number>\.?\d(?:[\w.]|(?<=[eE])[+-])*)|(?<sign>=>|\+\+|--|[^])/uy;
const REGEX = /\/(?:[^\\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[\w]*/uy;
const TEMPLATE = /(?:[^`\\$]|\\[^]|\$(?!\{))*(`|\$\{|$)/uy;
// After these words an expression begins, or goes on.
const BEFORE_EXPRESSION = new Set(('await case delete do else extends in instanceof new of return throw typeof void yield').split(' '));
const CLOSES = {')': '(', ']': '[', '}': '{'};

/** One pass over the tokens of some code. */
class Pass {
  edits = [];
  open = [];           // Brackets, and ` for a template.
  unfinished = false;  // A template or a comment has no end.
  last = null;         // {kind, text}, spaces and comments left out.
  #code;
  #at = 0;
  #onNewLine = true;
  #class = false;  // The body of a class is to come, or is open.
  #names = false;  // The names of a `let` are to come.

  constructor(code) {
    this.#code = code;
    while (this.#at < code.length) this.#token();
    this.#nameEnds('');
  }

  #token() {
    const start = this.#at;
    if (this.#code[start] === '/' && this.#regexCanBegin() && this.#match(REGEX)) {
      this.#take('regex', '/');
      return;
    }
    const found = this.#match(TOKEN);
    const {space, line, comment, text, word, number} = found.groups;
    if (space !== undefined) return;
    if (comment !== undefined) {
      this.unfinished ||= comment.startsWith('/*') && !(comment.length > 3 && comment.endsWith('*/'));
      this.#onNewLine ||= comment.includes('\n');
    } else if (line !== undefined) {
      this.#onNewLine = true;
    } else if (word !== undefined) {
      this.#word(word, start);
      this.#take('word', word);
    } else if (text !== undefined || number !== undefined) {
      this.#take('value', '');
    } else {
      this.#sign(found[0]);
    }
  }

  #match(pattern) {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#code);
    if (found) this.#at = pattern.lastIndex;
    return found;
  }

  #take(kind, text) {
    this.#nameEnds(text);
    this.last = {kind, text, end: this.#at};
    this.#onNewLine = false;
  }

  #regexCanBegin() {
    if (this.last === null) return true;
    const {kind, text} = this.last;
    return kind === 'word' ? BEFORE_EXPRESSION.has(text) : kind === 'sign' && !/^([)\]}]|\+\+|--)$/.test(text);
  }

  #statementBegins() {
    if (this.last === null) return true;
    const {kind, text} = this.last;
    if (kind === 'sign') return /^[;}]$/.test(text) || (this.#onNewLine && /^([)\]]|\+\+|--)$/.test(text));
    return this.#onNewLine && !BEFORE_EXPRESSION.has(text);
  }

  #word(word, start) {
    if (this.open.length > 0 || !this.#statementBegins()) return;
    const rest = this.#code.slice(this.#at, this.#at + 1000);
    if (word === 'const' || (word === 'let' && /^\s*[\p{ID_Start}$_[{]/u.test(rest))) {
      this.edits.push({start, end: this.#at, text: word === 'let' ? 'var' : 'var  '});
      this.#names = word === 'let';
    } else if (word === 'class') {
      const name = /^\s+([\p{ID_Start}$_][\p{ID_Continue}$]*)/u.exec(rest)?.[1];
      if (name === undefined || name === 'extends') return;
      this.edits.push({start, end: start, text: `var ${name} = `});
      this.#class = true;
    }
  }

  /** `let x` sets undefined each time, `var x` leaves what there is. */
  #nameEnds(following) {
    if (!this.#names || this.last === null || this.last.kind !== 'word') return;
    const {text, end} = this.last;
    if (text === 'let' || text === 'const') return;
    if (following !== '=') this.edits.push({start: end, end, text: ' = void 0'});
    if (following !== ',') this.#names = false;
  }

  #sign(sign) {
    if (sign === '`') {
      this.#template();
      return;
    }
    if (/^[([{]$/.test(sign)) {
      if (this.#names && this.open.length === 0) this.#names = false;
      this.open.push(sign);
    } else if (sign in CLOSES && this.open.at(-1) === CLOSES[sign]) {
      this.open.pop();
      if (sign === '}' && this.open.at(-1) === '`') {
        this.open.pop();
        this.#template();
        return;
      }
      if (sign === '}' && this.open.length === 0 && this.#class) {
        this.edits.push({start: this.#at, end: this.#at, text: ';'});
        this.#class = false;
      }
    }
    this.#take('sign', sign);
  }

  /** From behind a ` or the } of a part of it, to its end or its next part. */
  #template() {
    const end = this.#match(TEMPLATE)[1];
    if (end === '${') {
      this.open.push('`', '{');
      this.#take('sign', '{');
    } else {
      this.unfinished ||= end === '';
      this.#take('value', '');
    }
  }
}

/** The script that a cell is run as. */
export function toScript(code) {
  let script = '';
  let offset = 0;
  for (const {start, end, text} of new Pass(code).edits) {
    script += code.slice(offset, start) + text;
    offset = end;
  }
  return script + code.slice(offset);
}

/** Whether more text could make something of code that cannot be compiled. */
export function endsTooEarly(code) {
  const {unfinished, open, last} = new Pass(code);
  if (unfinished || open.length > 0) return true;
  return last !== null && (last.kind === 'sign' ? !/^([)\]};]|\+\+|--)$/.test(last.text) : BEFORE_EXPRESSION.has(last.text));
}
