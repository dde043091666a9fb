// SPDX-License-Identifier: Apache-2.0
// TemplateBuilds: templates as E2B's SDK builds them: a name, files, a list of steps, and a build
// that the client asks about until it is over.
//
// What the steps mean for us: in a build from a template, the root stays as it is and cannot be
// written; COPY, RUN and WORKDIR change the home directory, and that is kept. Both of E2B's users
// are the one guest. In a build from an image they change the root as well, and RUN runs as root or
// as the account that USER names. Commands reach what a sandbox reaches.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "doors/e2b/options.h"
#include "doors/e2b/routes.h"
#include "doors/e2b/template_steps.h"
#include "service/api/template_service.h"

namespace glovebox::e2b {

// Any thread. Each build has a thread of its own, which ends before this object.
class TemplateBuilds {
 public:
  TemplateBuilds(SandboxService& service, const E2bOptions& options)
      : service_(service), options_(options) {}
  TemplateBuilds(const TemplateBuilds&) = delete;
  TemplateBuilds& operator=(const TemplateBuilds&) = delete;
  ~TemplateBuilds();  // Cancels what runs.

  void add_to(Routes& routes);

 private:
  struct Entry {
    SystemTime at;
    std::string level;
    std::string message;
  };
  struct Build {
    Caller caller;
    std::string id;
    std::string name;               // Without a tag.
    std::vector<std::string> tags;  // One at least.
    LimitWishes limits;
    SystemTime created;
    std::vector<Entry> log;
    std::string status = "waiting";  // "building", "ready", "error"
    std::string reason;
    std::string step;  // Where it failed: "base", "finalize" or a number.
    bool canceled = false;
    std::thread thread;
  };

  Result<void> begin(ControlCall& call);
  Result<void> link_upload(ControlCall& call);
  Result<void> take_upload(ControlCall& call);
  Result<void> start(ControlCall& call);
  Result<void> show(ControlCall& call);

  Result<std::shared_ptr<Build>> find(const Caller& caller,
                                      const std::string& name,
                                      const std::string& id);
  // Stores how it ended, for clients that ask after this daemon is gone.
  void keep(const Build& build, bool ready, const std::string& reason, const std::string& step);
  void drop_old();
  static bool is_at_rest(Build& build);
  Result<void> make_room(const std::string& tenant);
  void run(const std::shared_ptr<Build>& build,
           const OrderedBuild& order,
           const std::shared_ptr<const std::vector<UniqueFd>>& files);
  bool note(Build& build, std::string level, std::string message);

  SandboxService& service_;
  const E2bOptions& options_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Build>> builds_;  // By id.
};

}  // namespace glovebox::e2b
