// SPDX-License-Identifier: Apache-2.0
#include "service/keeper/keeper.h"

#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <utility>

#include "base/json/json.h"
#include "base/sys/tree.h"
#include "base/text.h"
#include "context/agent_files.h"
#include "files/open.h"
#include "sandbox/several_users.h"
#include "service/keeper/act_records.h"
#include "service/network/egress.h"
#include "service/runs/live_session.h"
#include "service/templates/content_store.h"

namespace glovebox::keeper {
namespace {

using namespace std::chrono_literals;

// How long to wait for the end of all sandboxes; it continues afterwards.
constexpr auto kEndPatience = 20s;
// Connections of one sandbox that the journal knows by their hosts.
constexpr std::size_t kMostConnections = 50;
constexpr std::size_t kMostHost = 256;
constexpr std::size_t kMostSandboxes = 4'096;
constexpr std::uint64_t kLogSize = 1UL << 20;
// Of one sandbox with its first context.
constexpr std::size_t kDescriptorsOfSandbox = 16;
// Of its way out.
constexpr std::size_t kDescriptorsOfNetwork = 4;

// A sandbox of the default kind shows what every live language needs: contexts of any of them may
// be made in it later.
std::vector<Mount> mounts_of_live_languages(const Registry& registry) {
  std::vector<Mount> mounts;
  for (const Language& language : registry.all()) {
    if (language.agent.empty()) {
      continue;
    }
    for (Mount mount : language.mounts) {
      mount.optional = true;  // What is not installed here is not missed.
      if (std::ranges::find(mounts, mount) == mounts.end()) {
        mounts.push_back(std::move(mount));
      }
    }
  }
  return mounts;
}

}  // namespace

Keeper::Keeper(KeeperOptions options, Registry registry, OwnPaths paths)
    : options_(std::move(options)),
      registry_(std::move(registry)),
      paths_(std::move(paths)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      images_(paths_.directory()) {
  log_.rotate(paths_.directory() + "/keeper.log", kLogSize);
}

void Keeper::stop() {
  warming_stop_.request_stop();
  (void)::eventfd_write(stop_.get(), 1);
}

Result<std::unique_ptr<Keeper>> Keeper::start(KeeperOptions options) {
  OwnPaths paths = GB_TRY(OwnPaths::open(options.directory));
  std::unique_ptr<Keeper> keeper(new Keeper(
      std::move(options), Registry::load(Registry::user_directories()), std::move(paths)));
  keeper->watcher_ = std::thread(&Keeper::watch, keeper.get());
  keeper->sweeper_ = std::thread(&Keeper::sweep, keeper.get());
  keeper->hoard_watcher_ = std::thread(&Keeper::watch_hoards, keeper.get());
  return keeper;
}

namespace {

// Gives the user that the sandbox runs as a workspace to write to, and a home.
Result<void> give_workspace(Sandbox& sandbox, const CreateOrder& order) {
  RunOptions options;
  options.limits = sandbox.limits();
  const RunOutcome outcome = GB_TRY(sandbox.run(
      {.argv = give_to(by_number(order.run_as), order.home), .env = {}, .cwd = {}}, options));
  if (outcome.status == Status::kOk) {
    return {};
  }
  std::string_view said = outcome.err.bytes;
  constexpr std::string_view kOurs = "glovebox: ";
  said.remove_prefix(said.starts_with(kOurs) ? kOurs.size() : 0);
  said = said.substr(0, std::min<std::size_t>(said.find('\n'), 512));
  return Error(ErrorCode::kInvalid,
               "the sandbox cannot run as '" + printable(order.run_as) + "': " + printable(said),
               order.image_user.empty()
                   ? ""
                   : "the image names this user; set \"user\": \"user\" to run as the guest");
}

}  // namespace

CreateOrder with_image_user(CreateOrder order) {
  const bool native = order.tier.exactly.empty() || order.tier.exactly == "native";
  if (order.image_user.empty() || !native || !sandboxes_with_users()) {
    order.image_user.clear();
    return order;
  }
  order.as_root = true;
  order.run_as = order.image_user;
  order.user = SandboxSpec().user;  // The template's name for its guest would hide that user.
  return order;
}

Keeper::~Keeper() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  warming_stop_.request_stop();
  changed_.notify_all();
  if (warmer_.joinable()) {
    warmer_.join();
  }
  watcher_.join();
  sweeper_.join();
  hoard_watcher_.join();
  (void)end_all(EndReason::kKeeperEnded);
  stop_noting_acts();
}

std::vector<Mount> Keeper::mounts_of(const TemplateOrder& shows) {
  std::vector<Mount> mounts;
  if (shows.root.empty()) {
    std::call_once(live_mounts_found_,
                   [this] { live_mounts_ = mounts_of_live_languages(registry_); });
    mounts = live_mounts_;
  }
  mounts.insert(mounts.end(), shows.mounts.begin(), shows.mounts.end());
  return mounts;
}

Result<SandboxSpec> Keeper::spec_of(const CreateOrder& order, const EdgeCredentials& credentials) {
  SandboxSpec spec;
  spec.limits = order.limits;
  spec.as_root = order.as_root;
  spec.needs_users = !order.run_as.empty();
  spec.nested = order.nested;
  spec.user_may_sudo = order.sudo;
  if (!order.as_root) {
    spec.env = {{"HOME", order.home}, {"USER", order.user}, {"LOGNAME", order.user}};
  }
  spec.root = order.shows.root;
  spec.home = order.home;
  spec.user = order.user;
  spec.live = true;
  spec.rules = order.rules;
  spec.mounts = mounts_of(order.shows);
  spec.mounts.push_back(GB_TRY(file_server_mount()));
  if (order.network) {
    Egress::prepare(spec, credentials);
  }
  return spec;
}

Result<void> Keeper::sweep_contents(const std::set<std::string>& named,
                                    const std::set<std::string>& used) {
  const ContentStore contents = GB_TRY(ContentStore::open(paths_.directory() + "/templates"));
  for (const std::string& key : contents.unused(named)) {
    pools_.forget(contents.path_of(key));
  }
  contents.retire(used);
  // A root of many files takes a while, and nobody needs to wait for that.
  chores_.post({}, [contents] { contents.sweep_drafts(); });
  return {};
}

Result<std::shared_ptr<HeldSandbox>> Keeper::make(const CreateOrder& order,
                                                  const EdgeCredentials& credentials) {
  const Limits usual;
  std::vector<UniqueFd> contents = GB_TRY(hold_contents(order.shows));
  Environment env = order.env;
  if (order.network) {
    Egress::announce(env, credentials);
  }
  // The size of a file system cannot be changed later, and neither can who the guest is and whom it
  // trusts.
  if (order.images.empty() && !order.as_root && !order.nested && order.rules.empty() &&
      credentials.credentials().authority_key.empty() && comes_from_pool(order) &&
      order.limits.disk.count == usual.disk.count && order.limits.inodes == usual.inodes) {
    auto from = pool(order);
    if (!from && first_choice_can(order.tier, &TierTraits::forks_own_interpreters)) {
      return std::move(from).error();  // The tier makes them in no other way.
    }
    auto claimed = from ? from.value()->claim() : std::move(from).error();
    if (from && !claimed && claimed.error().code() != ErrorCode::kUnsupported) {
      return std::move(claimed).error();
    }
    if (claimed) {
      LiveContext live = std::move(claimed).value();
      if (order.limits != usual) {
        GB_TRY(live.sandbox->set_limits(order.limits));
      }
      auto held = std::make_shared<HeldSandbox>(std::move(live.zygote), std::move(live.sandbox),
                                                std::move(live.context), std::move(env));
      held->show_template(order.shows, std::move(contents));
      return held;
    }
    // The tier of the pool does not work here; perhaps another one fits the wish.
  }
  SandboxSpec spec = GB_TRY(spec_of(order, credentials));
  spec.mounts.push_back(GB_TRY(agents_mount()));
  spec.id = order.id;
  LentImages lent;
  if (!order.images.empty()) {
    lent = GB_TRY(images_.lend(order.images, spec));
    const auto own = std::ranges::find(order.images, order.home, &ImageOrder::target);
    // Only an image that was made for this sandbox, under its name, may be removed with it.
    lent.workspace = own == order.images.end() || order.id.empty() ? std::string() : own->image;
  }
  auto sandbox = GB_TRY(Sandbox::create(spec, order.tier));
  if (!order.run_as.empty()) {
    GB_TRY(give_workspace(*sandbox, order));
  }
  GB_TRY(HeldImages::note_root(lent));
  auto held = std::make_shared<HeldSandbox>(nullptr, std::move(sandbox), nullptr, std::move(env));
  const bool shared = std::ranges::any_of(order.images, [&](const ImageOrder& image) {
    return image.target != order.home && !image.read_only;
  });
  held->hold(std::move(lent), shared);
  held->show_template(order.shows, std::move(contents));
  return held;
}

Result<std::shared_ptr<HeldSandbox>> Keeper::load(const CreateOrder& order) {
  SandboxSpec spec = GB_TRY(spec_of(order, {}));
  spec.mounts.push_back(GB_TRY(agents_mount()));
  spec.id = order.id;
  std::vector<UniqueFd> contents = GB_TRY(hold_contents(order.shows));
  auto sandbox =
      GB_TRY(Sandbox::load(spec, order.tier.exactly, order.saved,
                           order.copied ? Sandbox::Seal::kNone : Sandbox::Seal::kSealed));
  auto held = std::make_shared<HeldSandbox>(nullptr, std::move(sandbox), nullptr, order.env);
  held->show_template(order.shows, std::move(contents));
  GB_TRY(held->wake(registry_, order.saved));
  return held;
}

Result<std::shared_ptr<HeldSandbox>> Keeper::create(const CreateOrder& wanted,
                                                    std::string record,
                                                    const std::function<bool()>& still_wanted) {
  const CreateOrder order = with_image_user(wanted);
  {
    const std::scoped_lock lock(mutex_);
    if (sandboxes_.size() >= kMostSandboxes) {
      return Error(ErrorCode::kExhausted, "this machine has reached its limit of sandboxes",
                   "end some sandboxes");
    }
  }
  GB_TRY(admit(kDescriptorsOfSandbox + (order.network ? kDescriptorsOfNetwork : 0)));
  EdgeCredentials credentials;
  if (order.network) {
    credentials =
        GB_TRY(EdgeCredentials::make(order.network->rules.credentials, order.network->secrets));
  }
  auto held = GB_TRY(order.saved.empty() ? make(order, credentials) : load(order));
  if (order.network) {
    held->let_out(
        GB_TRY(HeldNetwork::start(held->sandbox(), *order.network, std::move(credentials))));
  }
  const TierFeatures features = held->sandbox().features();
  if (features.own_root && features.loopback_network) {
    held->relay_indexes(GB_TRY(start_index_relay(held->sandbox(), order.indexes)));
  }
  if (order.lists_files) {
    held->list_changes();
  }
  if (!note_acts(happenings_, order.tenant, held->id())) {
    note_unwatched(happenings_, order.tenant, held->id(), held->sandbox().tier());
  }
  held->set_lifetime(order.lifetime);
  held->set_record(std::move(record));
  held->run_as(order.image_user);
  held->tell_ends([this, tenant = order.tenant, id = std::string(held->id())](
                      const ProcessRequest& request, const ProcessEvent& end) {
    nlohmann::json details{{"pid", end.pid}, {"exit_code", end.exit_code}};
    if (end.signal) {
      details["signal"] = *end.signal;
    }
    const std::vector<std::string>& argv = request.command.argv;
    happenings_.note(
        {.tenant = tenant,
         .sandbox = id,
         .action = "process.end",
         .subject = argv.empty() ? std::string() : to_utf8(argv.front().substr(0, kMostHost)),
         .result = std::string(to_string(end.reason)),
         .details = details.dump()});
  });
  {
    // Under the lock: either the next daemon's list has it, or we have seen that its maker is gone.
    const std::scoped_lock lock(mutex_);
    if (!still_wanted()) {
      return Error(ErrorCode::kUnavailable, "the request for this sandbox was canceled");
    }
    endings_.forget(held->id());  // If it is made again from what it left on disk.
    sandboxes_[std::string(held->id())] = {.sandbox = held, .tenant = order.tenant};
  }
  if (!order.saved.empty() && !order.copied) {
    // What the sandbox did once must not happen again.
    (void)sys::remove_tree(order.saved);
  }
  return held;
}

Result<std::shared_ptr<HeldSandbox>> Keeper::find(std::string_view id) {
  const std::scoped_lock lock(mutex_);
  const auto found = sandboxes_.find(id);
  if (found == sandboxes_.end() || !found->second.sandbox->alive()) {
    return Error(ErrorCode::kNotFound, "no sandbox '" + std::string(id) + "'");
  }
  return found->second.sandbox;
}

std::optional<Ending> Keeper::ending(std::string_view id) {
  {
    const std::scoped_lock lock(mutex_);
    // One that died a moment ago may wait for end_overdue(), while all() leaves it out already.
    const auto found = sandboxes_.find(id);
    if (found != sandboxes_.end() && !found->second.sandbox->alive()) {
      note_end(id, *found->second.sandbox);
    }
  }
  return endings_.find(id);
}

void Keeper::note_end(std::string_view id, const HeldSandbox& sandbox) {
  endings_.note(id, sandbox.overdue() ? EndReason::kExpired : sandbox.cause_of_death());
}

std::string Keeper::tenant_of(std::string_view id) {
  const std::scoped_lock lock(mutex_);
  const auto found = sandboxes_.find(id);
  return found == sandboxes_.end() ? std::string() : found->second.tenant;
}

std::vector<std::shared_ptr<HeldSandbox>> Keeper::all() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<HeldSandbox>> held;
  for (const auto& [id, each] : sandboxes_) {
    if (each.sandbox->alive()) {
      held.push_back(each.sandbox);
    }
  }
  return held;
}

void Keeper::discard_workspace(const HeldSandbox& sandbox) {
  if (sandbox.workspace().empty()) {
    return;
  }
  if (const auto removed = images_.discard(sandbox.workspace()); !removed) {
    log_.warning("sandbox " + std::string(sandbox.id()) +
                 ": its workspace is not removed: " + removed.error().message());
  }
}

Result<void> Keeper::kill(std::string_view id) {
  const Held gone = GB_TRY(take_out(id, EndReason::kDeleted));
  bury(gone);
  discard_workspace(*gone.sandbox);
  return {};
}

Result<void> Keeper::save(std::string_view id, const std::string& to, Bytes room) {
  return write_memory(id, to, room, &HeldSandbox::save, /*goes_on=*/false);
}

Result<void> Keeper::copy(std::string_view id, const std::string& to, Bytes room) {
  return write_memory(id, to, room, &HeldSandbox::copy, /*goes_on=*/true);
}

Result<void> Keeper::write_memory(std::string_view id,
                                  const std::string& to,
                                  Bytes room,
                                  Result<void> (HeldSandbox::*write)(const std::string& directory),
                                  bool goes_on) {
  const std::string draft = to + "-draft";
  struct statvfs disk {};
  if (::statvfs(paths_.directory().c_str(), &disk) == 0 &&
      disk.f_bavail * disk.f_frsize < room.count) {
    return Error(ErrorCode::kExhausted, "the disk has no room for the memory of this sandbox",
                 "free some space in the data directory");
  }
  std::shared_ptr<HeldSandbox> held;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = sandboxes_.find(id);
    if (found == sandboxes_.end() || !found->second.sandbox->alive()) {
      return Error(ErrorCode::kNotFound, "no sandbox '" + std::string(id) + "'");
    }
    if (std::exchange(found->second.saving, true)) {
      return Error(ErrorCode::kConflict, "the memory of the sandbox is being written already");
    }
    held = found->second.sandbox;
  }
  (void)sys::remove_tree(draft);
  Result<void> saved = ::mkdir(draft.c_str(), 0700) == 0
                           ? (*held.*write)(draft)
                           : Error::from_errno("create a directory for the saved sandbox");
  if (saved && ::rename(draft.c_str(), to.c_str()) != 0) {
    saved = Error::from_errno("name the saved sandbox");
  }
  if (!saved) {
    (void)sys::remove_tree(draft);
  }
  const std::scoped_lock lock(mutex_);
  if (const auto found = sandboxes_.find(id);
      found != sandboxes_.end() && found->second.sandbox == held) {
    found->second.saving = false;
    if (saved && !goes_on) {
      note_connections(found->second);  // The record begins anew with its next keeper.
      sandboxes_.erase(found);
    }
  }
  return saved;
}

Result<void> Keeper::end(std::string_view id, EndReason reason) {
  bury(GB_TRY(take_out(id, reason)));
  return {};
}

void Keeper::bury(const Held& held) {
  held.sandbox->kill();
  note_connections(held);
}

void Keeper::note_connections(const Held& held) {
  if (held.sandbox->network() == nullptr) {
    return;
  }
  const SandboxConnections made = held.sandbox->network()->connections();
  std::uint64_t more = made.more;
  std::size_t noted = 0;
  for (const ConnectionRecord& each : made.connections) {
    if (++noted > kMostConnections) {
      ++more;
      continue;
    }
    happenings_.note(
        {.tenant = held.tenant,
         .sandbox = std::string(held.sandbox->id()),
         .action = "connection",
         .subject = to_utf8(each.host.substr(0, kMostHost)) + ":" + std::to_string(each.port),
         .result = std::string(to_string(each.verdict)),
         .details = nlohmann::json{{"address", to_utf8(each.address.substr(0, kMostHost))},
                                   {"sent", each.sent},
                                   {"received", each.received}}
                        .dump()});
  }
  if (more > 0) {
    happenings_.note({.tenant = held.tenant,
                      .sandbox = std::string(held.sandbox->id()),
                      .action = "connection",
                      .details = "{\"more\":" + std::to_string(more) + "}"});
  }
}

Result<Keeper::Held> Keeper::take_out(std::string_view id, EndReason reason) {
  const std::scoped_lock lock(mutex_);
  const auto found = sandboxes_.find(id);
  if (found == sandboxes_.end()) {
    return Error(ErrorCode::kNotFound, "no sandbox '" + std::string(id) + "'");
  }
  Held gone = std::move(found->second);
  sandboxes_.erase(found);
  endings_.note(id, reason);
  return gone;
}

std::size_t Keeper::end_all(EndReason reason) {
  ready_sandboxes_.empty();
  HeldById gone;
  {
    const std::scoped_lock lock(mutex_);
    gone.swap(sandboxes_);
    for (const auto& [id, held] : gone) {
      endings_.note(id, reason);
    }
  }
  for (const auto& [id, held] : gone) {
    bury(held);
  }
  for (auto& [id, held] : gone) {
    chores_.post(held.tenant, [sandbox = std::move(held.sandbox)] {});
  }
  (void)chores_.wait(kEndPatience);
  return gone.size();
}

}  // namespace glovebox::keeper
