#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// npm, with the packages of local directories for its registry.
//
// npm takes single archives from files, but looks for what they depend on in a registry. So this
// answers as one, on the sandbox's own loopback and for as long as one npm runs. The directories are
// in GLOVEBOX_PACKAGE_SOURCES, with colons between.
'use strict';

const childProcess = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const zlib = require('node:zlib');

const kMaxUnpacked = 1 << 30;
const kMaxPackageJson = 4 << 20;
const kNotFound = 127; // As a shell says it.

const kBlock = 512;

// The text of the package.json in an archive of `npm pack`, which is "<any directory>/package.json".
function packageJsonIn(file) {
  const tar = zlib.gunzipSync(fs.readFileSync(file), { maxOutputLength: kMaxUnpacked });
  const text = (from, length) => tar.toString('utf8', from, from + length).replace(/\0.*$/s, '');
  for (let at = 0; at + kBlock <= tar.length;) {
    const size = parseInt(text(at + 124, 12), 8) || 0;
    const kind = String.fromCharCode(tar[at + 156] || 0x30);
    if (kind === '0' && size <= kMaxPackageJson && /^[^/]+\/package\.json$/.test(text(at, 100))) {
      return tar.toString('utf8', at + kBlock, at + kBlock + size);
    }
    at += kBlock * (1 + Math.ceil(size / kBlock));
  }
  return null;
}

// Name -> version -> {manifest, file}.
function readSources(directories) {
  const packages = new Map();
  for (const directory of directories) {
    for (const name of fs.readdirSync(directory).sort()) {
      if (!/\.(tgz|tar\.gz)$/.test(name)) {
        continue;
      }
      const file = path.join(directory, name);
      try {
        const manifest = JSON.parse(packageJsonIn(file));
        if (!packages.has(manifest.name)) {
          packages.set(manifest.name, new Map());
        }
        packages.get(manifest.name).set(manifest.version, { manifest, file });
      } catch {
        // An archive of something else.
      }
    }
  }
  return packages;
}

// Semantic Versioning 2.0.0, section 11.
function compareVersions(a, b) {
  const parse = (version) => {
    const [, numbers, tag] = /^([\d.]*)(?:-([^+]*))?/.exec(version);
    return { numbers: numbers.split('.').map(Number), tag: tag ? tag.split('.') : [] };
  };
  const [left, right] = [parse(a), parse(b)];
  for (let i = 0; i < 3; ++i) {
    const difference = (left.numbers[i] || 0) - (right.numbers[i] || 0);
    if (difference !== 0) {
      return difference;
    }
  }
  if (left.tag.length === 0 || right.tag.length === 0) {
    return right.tag.length - left.tag.length;
  }
  for (let i = 0; i < Math.min(left.tag.length, right.tag.length); ++i) {
    const [x, y] = [left.tag[i], right.tag[i]];
    const [numberX, numberY] = [/^\d+$/.test(x), /^\d+$/.test(y)];
    if (x !== y) {
      if (numberX && numberY) {
        return Number(x) - Number(y);
      }
      return numberX !== numberY ? (numberX ? -1 : 1) : (x < y ? -1 : 1);
    }
  }
  return left.tag.length - right.tag.length;
}

// What a registry says of one package.
function packument(name, versions, base) {
  const sorted = [...versions.keys()].sort(compareVersions);
  const stable = sorted.filter((version) => !version.includes('-'));
  const answer = { name, 'dist-tags': { latest: stable.at(-1) ?? sorted.at(-1) }, versions: {} };
  for (const version of sorted) {
    const { manifest, file } = versions.get(version);
    const integrity = crypto.createHash('sha512').update(fs.readFileSync(file)).digest('base64');
    const tarball = `${base}/-/${encodeURIComponent(name)}/${encodeURIComponent(version)}.tgz`;
    answer.versions[version] = {
      ...manifest,
      // npm learns of install scripts from here, before it has the archive.
      hasInstallScript: ['preinstall', 'install', 'postinstall'].some(
        (script) => manifest.scripts?.[script]),
      dist: { tarball, integrity: `sha512-${integrity}` },
    };
  }
  return answer;
}

// `index`: the address of a registry that has what the directories lack; nothing where there is none.
function serve(directories, index) {
  let packages = null;
  const server = http.createServer((request, response) => {
    const refuse = () => (index
      ? response.writeHead(307, { location: new URL(request.url.slice(1), index).href }).end()
      : response.writeHead(404).end('{"error":"not in the package sources"}'));
    try {
      packages ??= readSources(directories);
      const base = `http://127.0.0.1:${server.address().port}`;
      const parts = new URL(request.url, base).pathname.slice(1).split('/').map(decodeURIComponent);
      if (parts[0] === '-') {
        const entry = packages.get(parts[1])?.get(parts[2]?.replace(/\.tgz$/, ''));
        return entry ? fs.createReadStream(entry.file).pipe(response) : refuse();
      }
      const name = parts.join('/');
      const versions = packages.get(name);
      if (!versions) {
        return refuse();
      }
      response.setHeader('content-type', 'application/json');
      return response.end(JSON.stringify(packument(name, versions, base)));
    } catch {
      return refuse();
    }
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

// The npm that would have been found without this one.
function realNpm() {
  for (const directory of (process.env.PATH || '').split(':')) {
    const file = path.join(directory || '.', 'npm');
    if (fs.existsSync(file) && fs.realpathSync(file) !== fs.realpathSync(__filename)) {
      return file;
    }
  }
  return null;
}

async function main() {
  const npm = realNpm();
  if (npm === null) {
    console.error('npm is not installed');
    process.exit(kNotFound);
  }
  const sources = (process.env.GLOVEBOX_PACKAGE_SOURCES || '').split(':').filter(Boolean);
  const server = await serve(sources, process.env.npm_config_registry);
  const child = childProcess.spawn(npm, process.argv.slice(2), {
    stdio: 'inherit',
    env: {
      ...process.env,
      npm_config_registry: `http://127.0.0.1:${server.address().port}/`,
      npm_config_audit: 'false',
      npm_config_fund: 'false',
      npm_config_update_notifier: 'false',
    },
  });
  child.on('error', (error) => {
    console.error(error.message);
    process.exit(kNotFound);
  });
  child.on('exit', (code, signal) => process.exit(signal ? 1 : code));
}

main();
