// SPDX-License-Identifier: Apache-2.0
// Takes the types out of a TypeScript cell: by esbuild where it is installed, else by Node itself where it can. Neither checks them.

import childProcess from 'node:child_process';
import module from 'node:module';
import {Buffer, Error, JSON, Number, SyntaxError} from './primordials.mjs';

const {spawnSync} = childProcess;
const {SourceMap, stripTypeScriptTypes} = module;

const MAX_OUTPUT = 64 << 20;
const MAP = '\n//# sourceMappingURL=data:application/json;base64,';

// An import that this cell uses only as a type, or not at all, may be meant for the next one. The two older options are what esbuild
// had before `verbatimModuleSyntax`.
const COMPILER_OPTIONS = {
  verbatimModuleSyntax: true,
  preserveValueImports: true,
  importsNotUsedAsValues: 'preserve',
  experimentalDecorators: true,
};

function stripWithEsbuild(code) {
  const options = ['--loader=ts', '--target=esnext', '--sourcemap=inline', '--sources-content=false', '--log-level=error',
    '--color=false', '--charset=utf8', `--tsconfig-raw=${JSON.stringify({compilerOptions: COMPILER_OPTIONS})}`];
  const {error, status, stdout, stderr} = spawnSync('esbuild', options, {input: code, maxBuffer: MAX_OUTPUT, cwd: '/'});
  if (error?.code === 'ENOENT') return null;
  if (error) throw error;
  if (status !== 0) throw syntaxError(stderr.toString('utf8'));
  const output = stdout.toString('utf8');
  const end = output.lastIndexOf(MAP);
  const map = new SourceMap(JSON.parse(Buffer.from(output.slice(end + MAP.length), 'base64').toString('utf8')));
  return {code: output.slice(0, end), original: (line, column) => lookUp(map, line, column)};
}

function lookUp(map, line, column) {
  const {originalLine, originalColumn} = map.findEntry(line - 1, column - 1);
  return originalLine === undefined ? {line, column} : {line: originalLine + 1, column: originalColumn + 1};
}

function syntaxError(report) {
  const [, text] = /\[ERROR\] (.*)/.exec(report) ?? [];
  const [, line, column] = /<stdin>:(\d+):(\d+)/.exec(report) ?? [];
  const error = new SyntaxError(text ?? report.trim().slice(0, 1000));
  if (line) error.loc = {line: Number(line), column: Number(column)};
  return error;
}

/**
 * @returns {{code, original}}: JavaScript, and the way from a line and column (from 1) of it to those of the cell. Throws a SyntaxError,
 * with `loc` where the place is known.
 */
export function stripTypes(code) {
  const stripped = stripWithEsbuild(code);
  if (stripped !== null) return stripped;
  if (typeof stripTypeScriptTypes === 'function') {
    return {code: stripTypeScriptTypes(code), original: (line, column) => ({line, column})};
  }
  throw new Error('TypeScript requires esbuild, or Node.js 22.13 or newer, which can strip types');
}
