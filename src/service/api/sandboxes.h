// SPDX-License-Identifier: Apache-2.0
// Sandboxes: making, finding, changing and ending them; what they use and reach.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "files/file_client.h"
#include "sandbox/tiers/tier.h"
#include "service/api/caller.h"
#include "service/api/ending.h"
#include "spec/command.h"
#include "spec/connection_record.h"
#include "spec/guest_rules.h"
#include "spec/limit_fields.h"
#include "spec/limits.h"
#include "spec/network_rules.h"

namespace glovebox {

using SystemTime = std::chrono::system_clock::time_point;

// Where the workspace is. In memory it ends with its sandbox, and counts as memory. On disk it
// survives the end of the keeper and of the machine.
enum class Storage { kMemory, kDisk };

// A volume (service/api/volume_service.h) in a sandbox.
struct VolumeMount {
  std::string volume{};  // Its name or id; in answers its id.
  std::string path{};    // Absolute, inside.
  bool read_only = false;
};

enum class OnTimeout { kKill, kPause };
enum class SandboxState { kRunning, kPaused };

// What open_archive() has read and checked, for the sandbox that is made from it. Internal to the
// service: no client's request names one.
struct OpenedArchive {
  std::string files{};                 // The workspace, an archive of tar; or
  std::string memory{};                // a directory with the whole sandbox.
  std::string template_digest{};       // As the template of that name must have.
  std::shared_ptr<const void> kept{};  // Holds these in place, and their room in the quota.
};

struct SandboxRequest {
  std::string template_name = "default";
  std::string image{};  // Of a registry, in place of a template (guarded/image_templates.h).
  std::chrono::milliseconds timeout{300'000};
  OnTimeout on_timeout = OnTimeout::kKill;
  bool auto_resume = false;  // A call that needs it running resumes it.
  LimitWishes limits{};
  Environment env{};
  std::map<std::string, std::string> metadata{};
  TierWish tier{};
  bool nested = false;   // Its processes may make sandboxes (SandboxSpec::nested).
  bool as_root = false;  // They are root inside (SandboxSpec::as_root).
  // With `as_root`: who owns its processes, and the files that are written from outside, if a call
  // names nobody; as in ProcessRequest. Its contexts are root's all the same. Empty: root.
  std::string run_as{};
  bool sudo = false;  // With `as_root`: its guest "user" may become root by sudo.
  // Its processes run as the guest, whichever user its template's image names. Otherwise they run
  // as that user, if there is one and the machine and the tier can do it: then the sandbox is made
  // with root inside, and its contexts are that user's, too.
  bool as_guest = false;
  std::vector<std::string> policies{};  // Shipped ones, which hold beside the daemon's own.
  GuestRules rules{};                   // The service's to set, by those policies.
  NetworkRules network{};
  // If the operator lets no sandbox out, it is made without a network. Otherwise that is kRefused.
  bool network_optional = false;
  std::string extra = "{}";          // JSON that a door wants to find again; tokens among it.
  std::string idempotency_key{};     // The same key and tenant: the same sandbox.
  std::optional<Storage> storage{};  // Nothing: as the template says, else in memory.
  std::vector<VolumeMount> volumes{};
  std::shared_ptr<const OpenedArchive> archive{};  // That it continues; null: none.
  // Whether its client still waits for it. Asked once a second while an image is pulled; the pull
  // is given up if the client has left. Empty: it waits.
  std::function<bool()> wanted{};
};

struct SandboxInfo {
  std::string id{};
  std::string template_name{};
  std::string tier{};
  SandboxState state = SandboxState::kRunning;
  SystemTime created{};
  SystemTime expires{};
  OnTimeout on_timeout = OnTimeout::kKill;
  bool auto_resume = false;
  bool as_root = false;
  bool nested = false;
  std::string run_as{};
  bool sudo = false;
  std::vector<std::string> policies{};
  GuestRules rules{};  // For the service alone.
  Limits limits{};
  Environment env{};
  std::map<std::string, std::string> metadata{};
  NetworkRules network{};
  std::string extra = "{}";  // Empty for callers who may not use the sandbox.
  std::string walls{};       // JSON, as in a verdict.
  Storage storage = Storage::kMemory;
  // Whether copies of its workspace share with it what does not change.
  bool shares_copies = false;
  std::vector<VolumeMount> volumes{};
  // For the service alone: what its template was when the sandbox was made, since that template may
  // be removed, or replaced by another of the same name. Empty for templates that are always there.
  std::string base{};
  // Its processes are gone, because the machine or the keeper ended meanwhile; its workspace on
  // disk is what it was.
  bool restarted = false;
  // What its memory on disk may take; 0: its memory is not on disk.
  Bytes saved{};
};

// Where a paused sandbox keeps its memory.
enum class PauseTo {
  kMemory,  // Where it is, so that it can continue at once.
  kDisk,    // In a file: it survives the machine, and holds none of its memory.
};

struct SandboxQuery {
  std::map<std::string, std::string> metadata{};  // All of them must match.
  std::vector<SandboxState> states{};             // Empty: any.
  std::size_t limit = 100;
  std::string after{};  // `next` of the page before.
};
struct SandboxPage {
  std::vector<SandboxInfo> sandboxes{};  // Newest first.
  std::string next{};                    // Empty: no more.
};

struct SandboxChange {
  std::optional<std::chrono::milliseconds> timeout{};  // From now.
  std::optional<OnTimeout> on_timeout{};
  std::optional<bool> auto_resume{};
  std::optional<std::map<std::string, std::string>> metadata{};
  std::optional<NetworkRules> network{};
  bool network_optional = false;  // As SandboxRequest's.
  std::optional<std::string> extra{};
  // The sandbox that this change was made from: kConflict if its metadata, network or extra, where
  // this would replace them, have changed since. Nothing: replaces whatever is there.
  std::optional<SandboxInfo> made_from{};
};

struct ForkRequest {
  std::size_t count = 1;
  std::optional<std::chrono::milliseconds> timeout{};  // Nothing: what is left of the original's.
  // With the memory of all that runs, contexts with their variables. Otherwise only with the files.
  bool memory = false;
};

struct SandboxUsage {
  SystemTime at{};
  double cpus = 0;                        // Its limit.
  std::chrono::microseconds cpu_used{0};  // Since its creation.
  Bytes memory_used{};
  Bytes memory_limit{};
  Bytes disk_used{};
  Bytes disk_limit{};
  std::uint64_t pids = 0;
};

// The connections of a sandbox with network rules that have ended, the earliest first.
struct SandboxConnections {
  std::vector<ConnectionRecord> connections{};  // At most Verdict::kMaxConnections.
  std::uint64_t more = 0;                       // How many more have ended.
};

// Takes an archive. Each function returns false to end it.
struct ArchiveSink {
  std::function<bool(std::uint64_t size)> begin;     // Once, before the first byte.
  std::function<bool(std::string_view bytes)> take;  // Empty once a second while nothing comes.
};

class Sandboxes {
 public:
  virtual ~Sandboxes() = default;

  virtual Result<SandboxInfo> create(const Caller& caller, const SandboxRequest& request) = 0;
  virtual Result<SandboxInfo> find(const Caller& caller, std::string_view id) = 0;
  virtual Result<SandboxPage> list(const Caller& caller, const SandboxQuery& query) = 0;
  virtual Result<SandboxInfo> change(const Caller& caller,
                                     std::string_view id,
                                     const SandboxChange& change) = 0;
  virtual Result<void> kill(const Caller& caller, std::string_view id) = 0;
  // To disk: kUnsupported if its tier cannot, kConflict while code or a client's process runs in
  // it; then it keeps running as before.
  virtual Result<void> pause(const Caller& caller, std::string_view id, PauseTo to) = 0;
  virtual Result<SandboxInfo> resume(const Caller& caller, std::string_view id) = 0;
  virtual Result<SandboxUsage> usage(const Caller& caller, std::string_view id) = 0;
  // Empty for a sandbox without network rules.
  virtual Result<SandboxConnections> connections(const Caller& caller, std::string_view id) = 0;
  // A name under which sandboxes with these files can be made: a template of the tenant's.
  virtual Result<std::string> snapshot(const Caller& caller,
                                       std::string_view id,
                                       std::string_view name) = 0;
  // Copies with the files as they are now, while it keeps running. With the memory: kUnsupported if
  // its tier cannot, kConflict while it is paused, or while code or a client's process runs in it.
  virtual Result<std::vector<SandboxInfo>> fork(const Caller& caller,
                                                std::string_view id,
                                                const ForkRequest& request) = 0;

  // A sandbox as one archive (docs/export.md): with its memory if that is on disk, otherwise with
  // its files. kUnavailable if the sink ends it.
  virtual Result<void> export_archive(const Caller& caller,
                                      std::string_view id,
                                      const ArchiveSink& sink) = 0;
  // Receives such an archive, and returns the request with which create() continues it. kInvalid if
  // it is not such an archive or is damaged; kRefused for a memory that no daemon with our export
  // key has signed; kUnsupported for one that this machine cannot continue.
  virtual Result<SandboxRequest> open_archive(const Caller& caller,
                                              const FileClient::Source& source) = 0;

  // How a sandbox of the caller's ended, or, if `context` names one, a context in a live sandbox.
  // Nothing if it lives, was never there, is another tenant's, or is no longer remembered. For
  // callers that got kNotFound or kUnavailable.
  virtual std::optional<Ending> ending(const Caller& caller,
                                       std::string_view sandbox,
                                       std::string_view context) = 0;
};

}  // namespace glovebox
