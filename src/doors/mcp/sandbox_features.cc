// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/sandbox_features.h"

#include <exception>
#include <utility>

#include "base/base64.h"
#include "base/text.h"
#include "doors/mcp/app.h"
#include "doors/mcp/tool_list.h"
#include "doors/mcp/tools.h"
#include "language/registry.h"

namespace glovebox::mcp {
namespace {

constexpr std::string_view kFiles = "glovebox://files/";
// What takes longer becomes a task, for clients that know them. Most calls have their result by
// then, without further requests.
constexpr std::chrono::seconds kTaskAfter{3};
constexpr std::chrono::milliseconds kListTimeToLive{60'000};

std::string write_instructions(const SandboxFeaturesOptions& options) {
  std::string text =
      "Run untrusted code in sealed sandboxes. Variables stay in an interpreter between run_code "
      "calls, files stay in the workspace; both are the same for run_code, run_command and the "
      "file tools.";
  // Many files to parse: no daemon waits for them at its start.
  static const Registry registry = Registry::load(Registry::user_directories());
  if (const auto python = registry.find("python"); python && !python->preload.empty()) {
    text += " In Python these libraries are loaded already where they are installed:";
    for (const std::string& module : python->preload) {
      text += (text.back() == ':' ? " " : ", ") + module;
    }
    text += "; show a plot with plt.show() and it is returned as an image.";
  }
  text += options.sandbox.network.allow.empty()
              ? " Sandboxes have no network."
              : " Sandboxes reach only the hosts that their rules allow.";
  if (options.packages) {
    text += " Install further packages with install_packages.";
  }
  return text;
}

// Where a page of an output begins: the URI may end in "?offset=N".
std::uint64_t take_offset(std::string& uri) {
  constexpr std::string_view kOffset = "?offset=";
  const std::size_t at = uri.rfind(kOffset);
  if (at == std::string::npos) {
    return 0;
  }
  std::uint64_t offset = 0;
  for (const char digit : std::string_view(uri).substr(at + kOffset.size())) {
    if (digit < '0' || digit > '9' || offset > (std::uint64_t{1} << 50)) {
      return 0;
    }
    offset = offset * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  uri.resize(at);
  return offset;
}

Reply not_found(const Call& call, const std::string& uri) {
  return RpcError{.code = call.stateless() ? code::kInvalidParams : code::kLegacyNotFound,
                  .message = "resource not found",
                  .data = {{"uri", to_utf8(uri)}}};
}

Json contents_of(const std::string& uri, std::string_view type, const Page& page) {
  Json contents{{"uri", uri}, {"mimeType", type}};
  if (is_utf8(page.bytes)) {
    contents["text"] = page.bytes;
  } else {
    contents["blob"] = to_base64(page.bytes);
    contents["mimeType"] = "application/octet-stream";
  }
  if (page.next) {
    contents["_meta"]["glovebox.dev/next"] =
        uri.substr(0, uri.rfind('?')) + "?offset=" + std::to_string(*page.next);
  }
  return {{"contents", Json::array({std::move(contents)})}};
}

}  // namespace

SandboxFeatures::SandboxFeatures(SandboxService& service, SandboxFeaturesOptions options)
    : service_(service), options_(std::move(options)) {}

std::string SandboxFeatures::instructions() const { return write_instructions(options_); }

Features::Info SandboxFeatures::info() const {
  return {.name = "glovebox", .title = "Glovebox", .version = GB_VERSION};
}

Json SandboxFeatures::capabilities(bool stateless) const {
  Json capabilities{{"tools", Json::object()},
                    {"resources", {{"subscribe", true}, {"listChanged", true}}}};
  if (!stateless) {
    capabilities["logging"] = Json::object();
  }
  return capabilities;
}

std::optional<TaskUse> SandboxFeatures::task_use(const Call& call) const {
  return may_be_task(call.name()) ? std::optional(TaskUse{.patience = kTaskAfter}) : std::nullopt;
}

std::optional<Reply> SandboxFeatures::handle(const Call& call) {
  const std::string& method = call.method();
  if (method == "tools/list") {
    const bool app = shows_apps(call);
    Json listed{{"tools", tool_list({.packages = options_.packages,
                                     .tasks = call.version() == kWithTasks,
                                     .app = app})}};
    if (app && call.stateless()) {  // Not a list for everybody.
      listed["ttlMs"] = kListTimeToLive.count();
      listed["cacheScope"] = "private";
    }
    return listed;
  }
  if (method == "tools/call") {
    return call_tool(call);
  }
  if (method == "resources/list") {
    return list_resources(call);
  }
  if (method == "resources/templates/list") {
    return Json{{"resourceTemplates",
                 Json::array({{{"uriTemplate", std::string(KeptOutputs::kScheme) + "{id}"},
                               {"name", "output"},
                               {"description", "A long output, in pages"}},
                              {{"uriTemplate", "glovebox://task/{id}"},
                               {"name", "task"},
                               {"description", "The end of what a task has printed"}},
                              {{"uriTemplate", std::string(kFiles) + "{sandbox}/{+path}"},
                               {"name", "file"},
                               {"description", "A file of a sandbox"}}})}};
  }
  if (method == "resources/read") {
    return read_resource(call);
  }
  return std::nullopt;
}

Reply SandboxFeatures::call_tool(const Call& call) {
  const bool hidden = call.name() == "install_packages" && !options_.packages;
  return mcp::call_tool(hidden ? nullptr : find_tool(call.name()), call, service_, options_,
                        outputs_, parked_);
}

Json SandboxFeatures::list_resources(const Call& call) const {
  Json resources = Json::array();
  if (shows_apps(call)) {
    resources.push_back(app_resource());
  }
  for (const auto& output : outputs_.all(call.caller().tenant)) {
    resources.push_back({{"uri", output->uri},
                         {"name", output->name},
                         {"mimeType", output->type},
                         {"size", output->bytes.size()}});
  }
  return {{"resources", std::move(resources)}};
}

Reply SandboxFeatures::read_resource(const Call& call) const {
  const auto named = text_member(call.params(), "uri");
  if (!named || named->size() > 8'192) {
    return RpcError{.code = code::kInvalidParams, .message = "\"uri\" must be a string"};
  }
  if (*named == kAppUri && shows_apps(call)) {
    return app_contents();
  }
  std::string uri = *named;
  const std::uint64_t offset = take_offset(uri);
  if (uri.starts_with(KeptOutputs::kScheme)) {
    const auto kept = outputs_.find(call.caller().tenant, uri);
    return kept ? Reply(contents_of(*named, kept->type, page_of(kept->bytes, offset, Page::kMost)))
                : not_found(call, *named);
  }
  if (!uri.starts_with(kFiles) || uri.find('\0') != std::string::npos) {
    return not_found(call, *named);
  }
  const std::size_t slash = uri.find('/', kFiles.size());
  if (slash == std::string::npos || slash + 1 == uri.size()) {
    return not_found(call, *named);
  }
  const std::string sandbox = uri.substr(kFiles.size(), slash - kFiles.size());
  auto files = service_.files(call.caller(), sandbox, FileAccess::kRead);
  if (!files) {
    return not_found(call, *named);
  }
  const auto page = read_page(*files, uri.substr(slash + 1), offset, Page::kMost);
  return page ? Reply(contents_of(*named, "text/plain", *page)) : not_found(call, *named);
}

}  // namespace glovebox::mcp
