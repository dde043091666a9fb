// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/routes.h"

namespace glovebox::rest {
namespace {

// The service decides whether a caller has it (service/guarded/).
constexpr std::string_view kRead = kScopeRead;
constexpr std::string_view kRun = kScopeRun;
constexpr std::string_view kAdmin = kScopeAdmin;
constexpr std::string_view kApprove = kScopeApprove;
constexpr std::string_view kEverybody;
constexpr auto kLong = http::Pace::kLong;
constexpr auto kShort = http::Pace::kShort;

// If two patterns match, the first one counts.
constexpr Route kRoutes[] = {
    {"GET", "/", kEverybody, show_self},
    {"GET", "/healthz", kEverybody, show_health},
    {"GET", "/openapi.json", kEverybody, show_openapi},
    {"GET", "/metrics", kRead, show_metrics},
    {"POST", "/v1/judge", kRun, judge_code, false, kLong, kRecipeBody},
    {"POST", "/v1/run", kRun, run_code, false, kLong, kCodeBody},
    {"POST", "/v1/sandboxes", kRun, create_sandbox, false, kShort, kMiddleBody},
    {"GET", "/v1/sandboxes", kRead, list_sandboxes},
    {"POST", "/v1/sandboxes/import", kRun, import_sandbox, false, kLong},
    {"GET", "/v1/sandboxes/{id}", kRead, show_sandbox},
    {"PATCH", "/v1/sandboxes/{id}", kRun, change_sandbox, false, kShort, kMiddleBody},
    {"DELETE", "/v1/sandboxes/{id}", kRun, kill_sandbox},
    {"POST", "/v1/sandboxes/{id}/pause", kRun, pause_sandbox},
    {"POST", "/v1/sandboxes/{id}/resume", kRun, resume_sandbox},
    {"POST", "/v1/sandboxes/{id}/snapshot", kRun, snapshot_sandbox},
    {"POST", "/v1/sandboxes/{id}/fork", kRun, fork_sandbox},
    {"GET", "/v1/sandboxes/{id}/export", kRun, export_sandbox, false, kLong},
    {"GET", "/v1/sandboxes/{id}/usage", kRead, show_usage},
    {"GET", "/v1/sandboxes/{id}/connections", kRead, show_connections},
    {"POST", "/v1/sandboxes/{id}/packages", kRun, install_packages, false, kLong, kMiddleBody},
    {"POST", "/v1/sandboxes/{id}/contexts", kRun, create_context, false, kShort, kMiddleBody},
    {"GET", "/v1/sandboxes/{id}/contexts", kRead, list_contexts},
    {"DELETE", "/v1/sandboxes/{id}/contexts/{cid}", kRun, delete_context},
    {"POST", "/v1/sandboxes/{id}/contexts/{cid}/execute", kRun, execute, false, kLong, kCodeBody},
    {"GET", "/v1/sandboxes/{id}/contexts/{cid}/execute", kRun, execute_by_socket, true, kLong},
    {"POST", "/v1/sandboxes/{id}/contexts/{cid}/interrupt", kRun, interrupt_context},
    {"POST", "/v1/sandboxes/{id}/contexts/{cid}/input", kRun, reply_input, false, kShort,
     kMiddleBody},
    {"POST", "/v1/sandboxes/{id}/contexts/{cid}/tools/{call}", kRun, reply_tool, false, kShort,
     kMiddleBody},
    {"POST", "/v1/sandboxes/{id}/contexts/{cid}/complete", kRun, complete_code, false, kLong,
     kMiddleBody},
    {"POST", "/v1/sandboxes/{id}/contexts/{cid}/inspect", kRun, inspect_code, false, kLong,
     kMiddleBody},
    {"POST", "/v1/sandboxes/{id}/contexts/{cid}/restart", kRun, restart_context},
    {"POST", "/v1/sandboxes/{id}/contexts/{cid}/checkpoint", kRun, checkpoint_context},
    {"POST", "/v1/sandboxes/{id}/contexts/{cid}/rollback", kRun, rollback_context},
    {"POST", "/v1/sandboxes/{id}/contexts/{cid}/fork", kRun, fork_context},
    {"GET", "/v1/sandboxes/{id}/contexts/{cid}/notebook", kRead, show_notebook},
    {"GET", "/v1/sandboxes/{id}/contexts/{cid}/notebook.html", kRead, show_notebook_page},
    {"GET", "/v1/sandboxes/{id}/dry-runs", kRead, list_dry_runs},
    {"POST", "/v1/sandboxes/{id}/dry-runs/{dry}/commit", kRun, commit_dry_run},
    {"POST", "/v1/sandboxes/{id}/dry-runs/{dry}/discard", kRun, discard_dry_run},
    {"POST", "/v1/sandboxes/{id}/commands", kRun, run_command, false, kLong, kMiddleBody},
    {"POST", "/v1/sandboxes/{id}/processes", kRun, start_process, false, kShort, kMiddleBody},
    {"GET", "/v1/sandboxes/{id}/processes", kRead, list_processes},
    {"GET", "/v1/sandboxes/{id}/processes/{pid}", kRun, attach_process, true},
    {"DELETE", "/v1/sandboxes/{id}/processes/{pid}", kRun, kill_process},
    {"POST", "/v1/sandboxes/{id}/processes/{pid}/stdin", kRun, write_stdin, false, kLong},
    {"DELETE", "/v1/sandboxes/{id}/processes/{pid}/stdin", kRun, close_stdin},
    {"POST", "/v1/sandboxes/{id}/processes/{pid}/signal", kRun, signal_process},
    {"POST", "/v1/sandboxes/{id}/processes/{pid}/resize", kRun, resize_process},
    {"GET", "/v1/sandboxes/{id}/files", kRead, list_files},
    {"POST", "/v1/sandboxes/{id}/files", kRun, change_files},
    {"GET", "/v1/sandboxes/{id}/files/watch", kRead, watch_files, true, kLong},
    {"GET", "/v1/sandboxes/{id}/files/{path*}", kRead, read_file},
    {"HEAD", "/v1/sandboxes/{id}/files/{path*}", kRead, read_file},
    {"PUT", "/v1/sandboxes/{id}/files/{path*}", kRun, write_file, false, kLong},
    {"DELETE", "/v1/sandboxes/{id}/files/{path*}", kRun, remove_file},
    {"*", "/v1/sandboxes/{id}/ports/{port}/{path*}", kRun, proxy_port},
    {"POST", "/v1/sandboxes/{id}/port-tokens", kRun, create_port_token},
    {"POST", "/v1/volumes", kRun, create_volume},
    {"GET", "/v1/volumes", kRead, list_volumes},
    {"GET", "/v1/volumes/{id}", kRead, show_volume},
    {"DELETE", "/v1/volumes/{id}", kRun, remove_volume},
    {"GET", "/v1/volumes/{id}/files", kRead, list_files},
    {"POST", "/v1/volumes/{id}/files", kRun, change_files},
    {"GET", "/v1/volumes/{id}/files/{path*}", kRead, read_file},
    {"HEAD", "/v1/volumes/{id}/files/{path*}", kRead, read_file},
    {"PUT", "/v1/volumes/{id}/files/{path*}", kRun, write_file, false, kLong},
    {"DELETE", "/v1/volumes/{id}/files/{path*}", kRun, remove_file},
    {"GET", "/v1/languages", kRead, list_languages},
    {"GET", "/v1/templates", kRead, list_templates},
    {"POST", "/v1/templates", kRun, build_template, false, kShort, kRecipeBody},
    {"GET", "/v1/templates/{name}", kRead, show_template},
    {"DELETE", "/v1/templates/{name}", kRun, remove_template},
    {"GET", "/v1/templates/{name}/archive", kRead, export_template, true, kLong},
    {"PUT", "/v1/templates/{name}/archive", kRun, import_template, false, kLong},
    {"GET", "/v1/approvals", kRead, list_approvals},
    {"POST", "/v1/approvals/{id}", kApprove, decide_approval},
    {"POST", "/v1/reviews/{id}", kRun, answer_review},
    {"GET", "/v1/audit", kAdmin, list_audit},
    {"GET", "/v1/emergency-stop", kAdmin, list_emergency_stops},
    {"POST", "/v1/emergency-stop", kAdmin, emergency_stop},
    {"DELETE", "/v1/emergency-stop", kAdmin, lift_emergency_stop},
    {"GET", "/v1/tenants", kAdmin, list_tenants},
    {"POST", "/v1/tenants", kAdmin, create_tenant},
    {"GET", "/v1/tenants/{tenant}", kAdmin, show_tenant},
    {"PATCH", "/v1/tenants/{tenant}", kAdmin, change_tenant},
    {"DELETE", "/v1/tenants/{tenant}", kAdmin, delete_tenant},
    {"GET", "/v1/keys", kAdmin, list_keys},
    {"POST", "/v1/keys", kAdmin, create_key},
    {"POST", "/v1/keys/{key}/rotate", kAdmin, rotate_key},
    {"DELETE", "/v1/keys/{key}", kAdmin, revoke_key},
};

}  // namespace

std::span<const Route> routes() { return kRoutes; }

std::optional<std::vector<std::string>> match(std::string_view pattern,
                                              std::span<const std::string> segments) {
  std::vector<std::string> parameters;
  while (!pattern.empty()) {
    const std::size_t end = std::min(pattern.find('/', 1), pattern.size());
    const std::string_view part = pattern.substr(1, end - 1);
    pattern.remove_prefix(end);
    if (part.ends_with("*}")) {
      std::string rest;
      for (const std::string& segment : segments) {
        rest += (&segment == segments.data() ? "" : "/") + segment;
      }
      parameters.push_back(std::move(rest));
      return parameters;
    }
    if (segments.empty()) {
      return std::nullopt;
    }
    if (part.starts_with('{')) {
      if (segments.front().empty()) {
        return std::nullopt;
      }
      parameters.push_back(segments.front());
    } else if (part != segments.front()) {
      return std::nullopt;
    }
    segments = segments.subspan(1);
  }
  return segments.empty() ? std::optional(parameters) : std::nullopt;
}

}  // namespace glovebox::rest
