// SPDX-License-Identifier: Apache-2.0
#include "store/migrations.h"

#include <array>

namespace glovebox {
namespace {

// Times are nanoseconds since 1970. What a client can make long is bounded here, so that no path
// through the program can forget it. A tenant with sandboxes or volumes cannot be removed.
constexpr Sql kFirst = R"sql(
CREATE TABLE tenants (
  name TEXT PRIMARY KEY CHECK (length(name) BETWEEN 1 AND 64),
  created INTEGER NOT NULL,
  sandboxes INTEGER,
  memory INTEGER,
  cpus REAL,
  disk INTEGER,
  executions INTEGER,
  requests_per_second REAL,
  burst REAL
) STRICT, WITHOUT ROWID;
INSERT INTO tenants (name, created) VALUES ('default', unixepoch() * 1000000000);

CREATE TABLE api_keys (
  id TEXT PRIMARY KEY CHECK (length(id) BETWEEN 8 AND 64),
  tenant TEXT NOT NULL REFERENCES tenants (name) ON DELETE CASCADE,
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  scopes TEXT NOT NULL CHECK (length(scopes) <= 256),
  last_four TEXT NOT NULL CHECK (length(last_four) = 4),
  created INTEGER NOT NULL,
  expires INTEGER,
  revoked INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_of_tenant ON api_keys (tenant, created);

CREATE TABLE sandboxes (
  id TEXT PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 128),
  tenant TEXT NOT NULL REFERENCES tenants (name),
  slot TEXT NOT NULL CHECK (length(slot) <= 128),
  template TEXT NOT NULL CHECK (length(template) <= 256),
  tier TEXT NOT NULL CHECK (length(tier) <= 32),
  state TEXT NOT NULL CHECK (state IN ('creating', 'running', 'paused', 'ended')),
  created INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  on_timeout TEXT NOT NULL CHECK (on_timeout IN ('kill', 'pause')),
  auto_resume INTEGER NOT NULL CHECK (auto_resume IN (0, 1)),
  limits TEXT NOT NULL CHECK (length(limits) <= 4096),
  env TEXT NOT NULL CHECK (length(env) <= 1048576),
  metadata TEXT NOT NULL CHECK (length(metadata) <= 65536),
  network TEXT NOT NULL CHECK (length(network) <= 262144),
  extra TEXT NOT NULL CHECK (length(extra) <= 1048576),
  walls TEXT NOT NULL CHECK (length(walls) <= 65536),
  ended_at INTEGER,
  CHECK ((state = 'ended') = (ended_at IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX sandboxes_of_tenant ON sandboxes (tenant, created, id);
CREATE INDEX sandboxes_alive ON sandboxes (tenant, created, id) WHERE ended_at IS NULL;
CREATE INDEX sandboxes_ended ON sandboxes (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE idempotency (
  tenant TEXT NOT NULL REFERENCES tenants (name) ON DELETE CASCADE,
  key TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  what TEXT NOT NULL CHECK (length(what) <= 256),
  subject TEXT NOT NULL CHECK (length(subject) <= 256),
  answer TEXT CHECK (length(answer) <= 1048576),
  expires INTEGER NOT NULL,
  PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_expiry ON idempotency (expires);

CREATE TABLE templates (
  tenant TEXT NOT NULL CHECK (length(tenant) <= 64),
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 256),
  source TEXT NOT NULL CHECK (length(source) <= 4096),
  content_hash TEXT NOT NULL CHECK (length(content_hash) <= 128),
  made_from TEXT NOT NULL CHECK (length(made_from) <= 256),
  settings TEXT NOT NULL CHECK (length(settings) <= 1048576),
  created INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX templates_by_content ON templates (content_hash);

CREATE TABLE volumes (
  tenant TEXT NOT NULL REFERENCES tenants (name),
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
  id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 128),
  size INTEGER NOT NULL CHECK (size >= 0),
  created INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
)sql";

// Files on disk outlive the keeper of their sandbox; then only the database knows about them.
constexpr Sql kOnDisk = R"sql(
ALTER TABLE volumes ADD COLUMN inodes INTEGER NOT NULL DEFAULT 65536 CHECK (inodes > 0);
ALTER TABLE volumes ADD COLUMN secret TEXT NOT NULL DEFAULT '' CHECK (length(secret) <= 128);
ALTER TABLE sandboxes ADD COLUMN storage TEXT NOT NULL DEFAULT '{}'
  CHECK (length(storage) <= 65536);
)sql";

constexpr Sql kSecrets = R"sql(
CREATE TABLE secrets (
  tenant TEXT NOT NULL REFERENCES tenants (name) ON DELETE CASCADE,
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
  id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 128),
  value TEXT NOT NULL CHECK (length(value) <= 65536),
  version INTEGER NOT NULL CHECK (version > 0),
  metadata TEXT NOT NULL CHECK (length(metadata) <= 65536),
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
)sql";

constexpr Sql kTemplateBuilds = R"sql(
CREATE TABLE template_builds (
  id TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 128),
  tenant TEXT NOT NULL REFERENCES tenants (name) ON DELETE CASCADE,
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 256),
  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 2),
  reason TEXT NOT NULL CHECK (length(reason) <= 65536),
  step TEXT NOT NULL CHECK (length(step) <= 128),
  created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX template_builds_by_tenant ON template_builds (tenant);
)sql";

// Nobody needs what an ended sandbox was given any more: variables and tokens.
constexpr Sql kForgetting = R"sql(
UPDATE sandboxes SET env = '[]', network = '{}', extra = '{}', storage = '{}'
  WHERE ended_at IS NOT NULL;
ALTER TABLE idempotency ADD COLUMN place INTEGER NOT NULL DEFAULT 0 CHECK (place BETWEEN 0 AND 2);
)sql";

// Values are sealed (store/secret_box.h). SecretRecords seals those in plain text, and then drops
// this table: a step has no keys.
constexpr Sql kSealedSecrets = R"sql(
ALTER TABLE secrets RENAME TO plain_secrets;
CREATE TABLE secrets (
  tenant TEXT NOT NULL REFERENCES tenants (name) ON DELETE CASCADE,
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
  id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 128),
  sealed BLOB NOT NULL CHECK (length(sealed) <= 65792),
  version INTEGER NOT NULL CHECK (version > 0),
  metadata TEXT NOT NULL CHECK (length(metadata) <= 65536),
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
)sql";

// What an E2B client said about the network, which it can ask for again, was kept beside the rules.
// It belongs to the door's notes. The rules themselves are read in both forms
// (spec/json/network_rules_json.h).
constexpr Sql kNetworkRules = R"sql(
UPDATE sandboxes SET
    extra = json_set(extra, '$.e2b.network',
                     json_remove(json_extract(network, '$.e2b'), '$.egressProxy.password')),
    network = json_remove(network, '$.e2b')
  WHERE ended_at IS NULL AND json_valid(network) AND json_valid(extra)
    AND json_type(network, '$.e2b') = 'object' AND json_type(extra, '$.e2b') = 'object'
    AND length(network) + length(extra) < 1000000;
)sql";

// Why a sandbox ended; empty for those that ended before this was noted.
constexpr Sql kEndReasons = R"sql(
ALTER TABLE sandboxes ADD COLUMN end_reason TEXT NOT NULL DEFAULT ''
  CHECK (length(end_reason) <= 64);
)sql";

// Emergency stops, until they are lifted.
constexpr Sql kStops = R"sql(
CREATE TABLE stops (
  kind TEXT NOT NULL CHECK (kind IN ('all', 'tenant', 'sandbox')),
  name TEXT NOT NULL CHECK (length(name) <= 128),
  by_tenant TEXT NOT NULL CHECK (length(by_tenant) <= 128),
  by_key TEXT NOT NULL CHECK (length(by_key) <= 128),
  at INTEGER NOT NULL,
  PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
)sql";

constexpr std::array kSteps = {
    Migration{1, kFirst},          Migration{2, kOnDisk},     Migration{3, kSecrets},
    Migration{4, kTemplateBuilds}, Migration{5, kForgetting}, Migration{6, kSealedSecrets},
    Migration{7, kNetworkRules},   Migration{8, kEndReasons}, Migration{9, kStops},
};

}  // namespace

std::span<const Migration> migrations() { return kSteps; }

}  // namespace glovebox
