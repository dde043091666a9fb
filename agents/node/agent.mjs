// SPDX-License-Identifier: Apache-2.0
// The agent for JavaScript and TypeScript: node --expose-internals agent.mjs [--language javascript|typescript]

import process from 'node:process';

if (!process.execArgv.includes('--expose-internals')) {
  process.stderr.write('glovebox: start the Node agent as: node --expose-internals agent.mjs\n');
  process.exit(2);
}

const {serve} = await import('./server.mjs');
const language = process.argv.includes('typescript') ? 'typescript' : 'javascript';
serve(language);
