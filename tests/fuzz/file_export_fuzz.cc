// SPDX-License-Identifier: Apache-2.0
// What the kernel of a machine asks for its files, and what glovebox orders from the machine's
// first program. A kernel that was taken over may ask anything: each answer is one whole message of
// FUSE's to that question, and no question gets out of the tree.
#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "require.h"
#include "sandbox/microvm/file_export.h"
#include "sandbox/microvm/protocol.h"

namespace {

using glovebox::UniqueFd;
using glovebox::microvm::FileExport;
using glovebox::microvm::Order;

// A directory with a file, a directory, and a link that leads out.
int small_tree() {
  std::string path = "/tmp/file_export_fuzz.XXXXXX";
  require(::mkdtemp(path.data()) != nullptr);
  const int root = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  const UniqueFd file(::openat(root, "f", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  require(::write(file.get(), "inside", 6) == 6);
  require(::mkdirat(root, "d", 0755) == 0 && ::symlinkat("/etc", root, "out") == 0);
  return root;
}

void ask(FileExport& files, std::string_view request) {
  fuse_in_header in{};
  std::memcpy(&in, request.data(), sizeof in);
  const std::string_view answer = files.answer(request);
  if (answer.empty()) {
    return;
  }
  fuse_out_header out{};
  require(answer.size() >= sizeof out);
  std::memcpy(&out, answer.data(), sizeof out);
  require(out.len == answer.size() && out.unique == in.unique);
  require(out.error <= 0 && out.error > -512);
  require(out.error == 0 || answer.size() == sizeof out);
  if (in.opcode == FUSE_READ && out.error == 0) {
    require(answer.size() <= sizeof out + 6);  // Only the file inside has anything to be read.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int kRoot = small_tree();
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto order = Order::decode(bytes)) {
    require(order->encode() == bytes);
  }
  FileExport files(UniqueFd(::fcntl(kRoot, F_DUPFD_CLOEXEC, 3)));
  // Each request begins with its size, as on the wire.
  while (bytes.size() >= sizeof(fuse_in_header)) {
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    const std::size_t taken = std::clamp<std::size_t>(length, sizeof(fuse_in_header), bytes.size());
    ask(files, bytes.substr(0, taken));
    bytes.remove_prefix(taken);
  }
  // A clone's export goes on with what the template's knew.
  const std::string names = files.names();
  FileExport next(UniqueFd(::fcntl(kRoot, F_DUPFD_CLOEXEC, 3)));
  require(next.remember(names) && next.names().size() == names.size());
  return 0;
}
