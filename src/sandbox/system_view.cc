// SPDX-License-Identifier: Apache-2.0
#include "sandbox/system_view.h"

namespace glovebox {
namespace {

constexpr const char* kNsswitch =
    "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n";

std::string passwd(const SandboxSpec& spec, uid_t uid, gid_t gid) {
  return "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n" + spec.user +
         ":x:" + std::to_string(uid) + ":" + std::to_string(gid) + ":" + spec.user + ":" +
         spec.home + ":/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
}

std::string group(const SandboxSpec& spec, gid_t gid) {
  return "root:x:0:\n" + spec.user + ":x:" + std::to_string(gid) + ":\nnogroup:x:65534:\n";
}

}  // namespace

std::vector<EtcFile> etc_of_all(const SandboxSpec& spec) {
  std::vector<EtcFile> files = {
      {"nsswitch.conf", kNsswitch},
      {"hosts", "127.0.0.1 localhost " + spec.hostname + "\n::1 localhost ip6-localhost\n"}};
  if (spec.egress_port != 0) {
    files.push_back({kResolvConf, "nameserver 127.0.0.1\n"});  // The proxy.
  }
  return files;
}

std::vector<EtcFile> etc_of_guest(const SandboxSpec& spec, uid_t uid, gid_t gid) {
  std::vector<EtcFile> files = etc_of_all(spec);
  files.push_back({"passwd", passwd(spec, uid, gid)});
  files.push_back({"group", group(spec, gid)});
  return files;
}

}  // namespace glovebox
