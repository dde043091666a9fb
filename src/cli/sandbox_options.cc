// SPDX-License-Identifier: Apache-2.0
#include "cli/sandbox_options.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "service/runs/run_terms.h"

namespace glovebox::cli {
void add_options(CLI::App& command, SandboxOptionsText& options) {
  add_shared_options(command, options, {{"cpu_time", "CPU time limit for each cell"}});
  add_network_options(command, options);
  command
      .add_option("--packages", options.packages,
                  "Packages to install at the start: pip:NAME[==VERSION],npm:NAME[@VERSION]")
      ->type_name("LIST")
      ->group(kFileOptions);
  command
      .add_option("--package-source", options.package_sources,
                  "Directory of wheels or npm tarballs to install from, for --packages and for "
                  "cells; repeatable")
      ->type_name("DIR")
      ->group(kFileOptions);
  command
      .add_option("--package-index", options.package_indexes,
                  "Package index on a Unix socket for cells to install from: pip:SOCKET or "
                  "npm:SOCKET")
      ->type_name("KIND:SOCKET")
      ->group(kFileOptions);
}

void forbid_empty_values(CLI::App& command) {
  for (CLI::Option* const option : command.get_options()) {
    if (option->get_items_expected_max() > 0) {
      option->allow_extra_args(false);
      option->check([](const std::string& value) {
        return value.empty() ? "the value is empty" : std::string();
      });
    }
  }
}

Result<LiveSpec> make_live_spec(Language language, const SandboxOptionsText& options) {
  LiveSpec spec;
  spec.limits = GB_TRY(
      with_host_limits(options.limits, run_limits(language, GB_TRY(parse_limits(options.limits)))));
  spec.limits.wall = kNoTimeLimit;
  GB_TRY(validate(spec.limits));
  spec.language = std::move(language);
  spec.tier = {.exactly = options.tier, .at_least = options.min_tier};
  spec.env = GB_TRY(parse_environment(options));
  NetworkOptions network = GB_TRY(parse_network(options));
  spec.network = std::move(network.rules);
  spec.secrets = std::move(network.secrets);
  for (const std::string& text : options.files) {
    spec.files.push_back(GB_TRY(parse_file_to_copy(text)));
  }
  spec.packages.requests = GB_TRY(parse_packages(options.packages));
  spec.packages.sources = options.package_sources;
  spec.packages.indexes = GB_TRY(parse_package_indexes(options.package_indexes));
  if (auto allowed = validate(spec.packages); !allowed) {
    return std::move(allowed).error().within("--packages");
  }
  return spec;
}

}  // namespace glovebox::cli
