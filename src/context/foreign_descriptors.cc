// SPDX-License-Identifier: Apache-2.0
#include "context/foreign_descriptors.h"

#include "base/sys/descriptors.h"
#include "files/foreign.h"

namespace glovebox {
ssize_t ForeignDescriptors::receive(int socket, std::span<char> bytes, int flags) {
  return sys::receive_with(socket, bytes, descriptors_, flags);
}

void ForeignDescriptors::close() { files::close_foreign(descriptors_); }

}  // namespace glovebox
