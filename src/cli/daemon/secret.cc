// SPDX-License-Identifier: Apache-2.0
// glovebox secret: the key that encrypts the secrets in a daemon's database. Works on the data
// directory itself, whether the daemon runs or not.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/daemon/commands.h"
#include "cli/daemon/data_directory.h"
#include "store/database.h"
#include "store/secret_records.h"

namespace glovebox::cli {
namespace {

constexpr const char* kSecretFooter = R"(Examples:
  glovebox secret rotate-key
  glovebox secret rotate-key --data /var/lib/glovebox)";

Result<int> rotate_key(const std::string& directory) {
  const std::string path = directory + "/glovebox.db";
  if (::access(path.c_str(), R_OK | W_OK) != 0) {
    return Error::from_errno("open " + path)
        .with_hint(
            "pass the daemon's data directory with --data, and run this command as its owner");
  }
  const auto database = GB_TRY(Database::open(path));
  SecretRecords secrets(*database, directory + "/secrets.key");
  GB_TRY(secrets.prepare(path));
  const std::size_t count = GB_TRY(secrets.rotate_key());
  (void)std::printf("encrypted %zu secrets with a new key in %s/secrets.key\n", count,
                    directory.c_str());
  return 0;
}

}  // namespace

void add_secret(CLI::App& app, bool described, Action* action) {
  auto* const group = app.add_subcommand(kSecret.name, kSecret.description);
  group->footer(kSecretFooter);
  group->require_subcommand(1);
  if (!described) {
    return;
  }
  auto* const command = group->add_subcommand(
      "rotate-key", "Encrypt all secrets with a new key and discard the old key");
  command->footer(kSecretFooter);
  auto directory = std::make_shared<std::string>(default_data_directory());
  command
      ->add_option("--data", *directory,
                   std::string("Data directory of the daemon") + kDefaultDataDirectory)
      ->type_name("DIR");
  command->callback(
      [action, directory] { *action = [directory] { return ended(rotate_key(*directory)); }; });
}

}  // namespace glovebox::cli
