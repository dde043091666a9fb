// SPDX-License-Identifier: Apache-2.0
// A disk that forgets, for tests: SQLite's files as a power failure could leave them.
//
// It sits between SQLite and its own file layer (https://sqlite.org/vfs.html) and logs every write
// and flush. From the log it knows, for any past moment, what could be on a disk whose power
// failed then: everything flushed, and any part of the rest, torn between sectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>

namespace glovebox::testing {

class PowerLossDisk {
 public:
  // From now on all databases that this process opens are on this disk. One disk at a time.
  PowerLossDisk();
  ~PowerLossDisk();
  PowerLossDisk(const PowerLossDisk&) = delete;
  PowerLossDisk& operator=(const PowerLossDisk&) = delete;

  // Treats the files as flushed in their present state, and logs what happens to them from now on.
  void start(const std::string& database);
  void stop();

  // How many operations there were so far, which identifies a moment.
  [[nodiscard]] std::size_t now() const;

  // Writes into `directory` what could be on the disk after a failure at `moment`.
  void restore(std::size_t moment, std::mt19937& random, const std::string& directory) const;
};

}  // namespace glovebox::testing
