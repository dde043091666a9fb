// SPDX-License-Identifier: Apache-2.0
// The routes of the REST door, as data: what a test walks to prove that none is open.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doors/rest/call.h"

namespace glovebox::rest {

inline constexpr std::size_t kSmallBody = 64UL << 10;
inline constexpr std::size_t kMiddleBody = 1UL << 20;  // Variables, metadata, rules, arguments.
inline constexpr std::size_t kCodeBody = 8UL << 20;
inline constexpr std::size_t kRecipeBody = 24UL << 20;  // It includes files in base64.

struct Route {
  std::string_view method;  // "*": any.
  std::string_view
      pattern;             // "{name}" matches one segment, "{name*}" the rest, which may be empty.
  std::string_view scope;  // Empty: for everybody.
  Handle handle;
  // Its answer is a stream. Any other route for GET takes HEAD too (RFC 9110, 9.1).
  bool streams = false;
  http::Pace pace = http::Pace::kShort;
  // The most bytes of a body of JSON; bodies that are files have limits of their own. Parsed, JSON
  // takes up to sixteen times as much (spec/json/bounded_json.h).
  std::size_t body = kSmallBody;
};

std::span<const Route> routes();

// What "{…}" matched, when the segments fit the pattern. The rest is joined by slashes.
std::optional<std::vector<std::string>> match(std::string_view pattern,
                                              std::span<const std::string> segments);

// The handlers, by what they are about. What each does is in api/openapi.yaml.
Result<void> create_sandbox(Call& call);
Result<void> list_sandboxes(Call& call);
Result<void> show_sandbox(Call& call);
Result<void> change_sandbox(Call& call);
Result<void> kill_sandbox(Call& call);
Result<void> pause_sandbox(Call& call);
Result<void> resume_sandbox(Call& call);
Result<void> snapshot_sandbox(Call& call);
Result<void> fork_sandbox(Call& call);
Result<void> export_sandbox(Call& call);
Result<void> import_sandbox(Call& call);
Result<void> show_usage(Call& call);
Result<void> show_connections(Call& call);

Result<void> run_code(Call& call);
Result<void> judge_code(Call& call);
Result<void> create_context(Call& call);
Result<void> list_contexts(Call& call);
Result<void> delete_context(Call& call);
Result<void> execute(Call& call);
Result<void> execute_by_socket(Call& call);
Result<void> interrupt_context(Call& call);
Result<void> reply_input(Call& call);
Result<void> reply_tool(Call& call);
Result<void> complete_code(Call& call);
Result<void> inspect_code(Call& call);
Result<void> restart_context(Call& call);
Result<void> checkpoint_context(Call& call);
Result<void> rollback_context(Call& call);
Result<void> fork_context(Call& call);
Result<void> list_dry_runs(Call& call);
Result<void> commit_dry_run(Call& call);
Result<void> discard_dry_run(Call& call);
Result<void> show_notebook(Call& call);
Result<void> show_notebook_page(Call& call);

Result<void> run_command(Call& call);
Result<void> start_process(Call& call);
Result<void> list_processes(Call& call);
Result<void> attach_process(Call& call);
Result<void> kill_process(Call& call);
Result<void> write_stdin(Call& call);
Result<void> close_stdin(Call& call);
Result<void> signal_process(Call& call);
Result<void> resize_process(Call& call);

Result<void> list_files(Call& call);
Result<void> change_files(Call& call);
Result<void> watch_files(Call& call);
Result<void> read_file(Call& call);
Result<void> write_file(Call& call);
Result<void> remove_file(Call& call);
Result<void> proxy_port(Call& call);
Result<void> create_port_token(Call& call);

Result<void> create_volume(Call& call);
Result<void> list_volumes(Call& call);
Result<void> show_volume(Call& call);
Result<void> remove_volume(Call& call);

Result<void> list_languages(Call& call);
Result<void> list_templates(Call& call);
Result<void> build_template(Call& call);
Result<void> show_template(Call& call);
Result<void> remove_template(Call& call);
Result<void> import_template(Call& call);
Result<void> list_approvals(Call& call);
Result<void> decide_approval(Call& call);
Result<void> answer_review(Call& call);
Result<void> export_template(Call& call);
Result<void> list_audit(Call& call);
Result<void> emergency_stop(Call& call);
Result<void> lift_emergency_stop(Call& call);
Result<void> list_emergency_stops(Call& call);
Result<void> list_tenants(Call& call);
Result<void> create_tenant(Call& call);
Result<void> show_tenant(Call& call);
Result<void> change_tenant(Call& call);
Result<void> delete_tenant(Call& call);
Result<void> list_keys(Call& call);
Result<void> create_key(Call& call);
Result<void> rotate_key(Call& call);
Result<void> revoke_key(Call& call);
Result<void> install_packages(Call& call);
Result<void> show_self(Call& call);
Result<void> show_health(Call& call);
Result<void> show_openapi(Call& call);
Result<void> show_metrics(Call& call);

}  // namespace glovebox::rest
