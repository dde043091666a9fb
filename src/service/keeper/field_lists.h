// SPDX-License-Identifier: Apache-2.0
// The fields of what crosses between a daemon and its keeper, by their names on the way.
#pragma once

#include <optional>
#include <string>
#include <tuple>

#include "service/api/sandbox_service.h"
#include "service/keeper/codec.h"
#include "service/keeper/fields.h"
#include "service/keeper/keeper.h"
#include "spec/json/guest_rules_json.h"
#include "spec/json/network_rules_json.h"

namespace glovebox::keeper {

// What has a form of its own.
template <>
struct Coding<SystemTime> {
  static nlohmann::json encode(SystemTime time) { return to_ms(time); }
  static void decode(const nlohmann::json& from, SystemTime& time) {
    time = to_time(fields::decoded<std::int64_t>(from));
  }
};
template <>
struct Coding<Limits> {
  static nlohmann::json encode(const Limits& limits) { return to_json(limits); }
  static void decode(const nlohmann::json& from, Limits& limits) { limits = to_limits(from); }
};
template <>
struct Coding<LimitWishes> {
  static nlohmann::json encode(const LimitWishes& wishes) { return to_json(wishes); }
  static void decode(const nlohmann::json& from, LimitWishes& wishes) {
    wishes = to_limit_wishes(from);
  }
};
template <>
struct Coding<GuestRules> {
  static nlohmann::json encode(const GuestRules& rules) { return glovebox::to_json(rules); }
  static void decode(const nlohmann::json& from, GuestRules& rules) {
    rules = read_stored_guest_rules(fields::decoded<std::string>(from));
  }
};
template <>
struct Coding<NetworkRules> {
  static nlohmann::json encode(const NetworkRules& rules) { return glovebox::to_json(rules); }
  static void decode(const nlohmann::json& from, NetworkRules& rules) {
    rules = read_stored_network_rules(fields::decoded<std::string>(from));
  }
};
template <>
struct Coding<std::optional<NetworkOrder>> {
  static nlohmann::json encode(const std::optional<NetworkOrder>& order) {
    return order ? to_json(*order) : nlohmann::json();
  }
  static void decode(const nlohmann::json& from, std::optional<NetworkOrder>& order) {
    order = to_network_order(from);
  }
};

template <>
inline constexpr auto kFields<TierWish> =
    std::tuple{Field{"exactly", &TierWish::exactly}, Field{"at_least", &TierWish::at_least}};
template <>
inline constexpr auto kFields<Command> = std::tuple{
    Field{"argv", &Command::argv}, Field{"env", &Command::env}, Field{"cwd", &Command::cwd}};
template <>
inline constexpr auto kFields<Mount> =
    std::tuple{Field{"source", &Mount::source}, Field{"target", &Mount::target},
               Field{"optional", &Mount::optional}, Field{"closed", &Mount::closed}};
template <>
inline constexpr auto kFields<TemplateOrder> = std::tuple{
    Field{"tenant", &TemplateOrder::tenant},    Field{"root", &TemplateOrder::root},
    Field{"mounts", &TemplateOrder::mounts},    Field{"env", &TemplateOrder::env},
    Field{"preload", &TemplateOrder::preload},  Field{"directory", &TemplateOrder::directory},
    Field{"contents", &TemplateOrder::contents}};
template <>
inline constexpr auto kFields<PackageIndex> =
    std::tuple{Field{"manager", &PackageIndex::manager}, Field{"socket", &PackageIndex::socket}};
template <>
inline constexpr auto kFields<ImageOrder> =
    std::tuple{Field{"image", &ImageOrder::image}, Field{"target", &ImageOrder::target},
               Field{"read_only", &ImageOrder::read_only}};
template <>
inline constexpr auto kFields<CreateOrder> =
    std::tuple{Field{"tenant", &CreateOrder::tenant},
               Field{"id", &CreateOrder::id},
               Field{"images", &CreateOrder::images},
               Field{"home", &CreateOrder::home},
               Field{"user", &CreateOrder::user},
               Field{"as_root", &CreateOrder::as_root},
               Field{"nested", &CreateOrder::nested},
               Field{"run_as", &CreateOrder::run_as},
               Field{"sudo", &CreateOrder::sudo},
               Field{"image_user", &CreateOrder::image_user},
               Field{"limits", &CreateOrder::limits},
               Field{"env", &CreateOrder::env},
               Field{"shows", &CreateOrder::shows},
               Field{"network", &CreateOrder::network},
               Field{"lists_files", &CreateOrder::lists_files},
               Field{"rules", &CreateOrder::rules},
               Field{"indexes", &CreateOrder::indexes},
               Field{"saved", &CreateOrder::saved},
               Field{"copied", &CreateOrder::copied},
               Field{"tier", &CreateOrder::tier},
               Field{"expires", kWithin<&CreateOrder::lifetime, &Lifetime::expires>},
               Field{"on_timeout", kWithin<&CreateOrder::lifetime, &Lifetime::on_timeout>}};
template <>
inline constexpr auto kFields<SandboxUsage> =
    std::tuple{Field{"at", &SandboxUsage::at},
               Field{"cpus", &SandboxUsage::cpus},
               Field{"cpu_used", &SandboxUsage::cpu_used},
               Field{"memory_used", &SandboxUsage::memory_used},
               Field{"memory_limit", &SandboxUsage::memory_limit},
               Field{"disk_used", &SandboxUsage::disk_used},
               Field{"disk_limit", &SandboxUsage::disk_limit},
               Field{"pids", &SandboxUsage::pids}};
template <>
inline constexpr auto kFields<ContextRequest> =
    std::tuple{Field{"language", &ContextRequest::language}, Field{"cwd", &ContextRequest::cwd},
               Field{"env", &ContextRequest::env}};
template <>
inline constexpr auto kFields<ContextInfo> =
    std::tuple{Field{"id", &ContextInfo::id}, Field{"language", &ContextInfo::language},
               Field{"cwd", &ContextInfo::cwd}, Field{"alive", &ContextInfo::alive},
               Field{"busy", &ContextInfo::busy}};
template <>
inline constexpr auto kFields<Tool> =
    std::tuple{Field{"name", &Tool::name}, Field{"description", &Tool::description},
               Field{"parameters", &Tool::parameters}};
template <>
inline constexpr auto kFields<ToolOffer> =
    std::tuple{Field{"tools", &ToolOffer::tools}, Field{"calls", &ToolOffer::calls},
               Field{"wait", &ToolOffer::wait}};
template <>
inline constexpr auto kFields<ExecuteRequest> =
    std::tuple{Field{"code", &ExecuteRequest::code},
               Field{"env", &ExecuteRequest::env},
               Field{"limits", &ExecuteRequest::limits},
               Field{"recover", &ExecuteRequest::recover},
               Field{"store_history", &ExecuteRequest::store_history},
               Field{"allow_input", &ExecuteRequest::allow_input},
               Field{"tools", &ExecuteRequest::tools},
               Field{"dry_run", kWithin<&ExecuteRequest::dry_run, &DryRunWish::wanted>},
               Field{"dry_run_network", kWithin<&ExecuteRequest::dry_run, &DryRunWish::network>},
               Field{"dry_run_timeout", kWithin<&ExecuteRequest::dry_run, &DryRunWish::timeout>},
               Field{"dry_run_seal", &ExecuteRequest::dry_run_seal},
               Field{"key", &ExecuteRequest::idempotency_key}};
template <>
inline constexpr auto kFields<InputReply> =
    std::tuple{Field{"value", &InputReply::value}, Field{"request", &InputReply::request}};
template <>
inline constexpr auto kFields<ToolReply> =
    std::tuple{Field{"call", &ToolReply::call},
               Field{"result", kWithin<&ToolReply::answer, &ToolAnswer::result>},
               Field{"error", kWithin<&ToolReply::answer, &ToolAnswer::error>}};

template <>
inline constexpr auto kFields<ToolWait> =
    std::tuple{Field{"open", &ToolWait::open}, Field{"agreed", &ToolWait::agreed}};
template <>
inline constexpr auto kFields<CodePlace> =
    std::tuple{Field{"code", &CodePlace::code}, Field{"cursor", &CodePlace::cursor}};
template <>
inline constexpr auto kFields<Completion> =
    std::tuple{Field{"matches", &Completion::matches}, Field{"start", &Completion::start},
               Field{"end", &Completion::end}};
template <>
inline constexpr auto kFields<Inspection> =
    std::tuple{Field{"found", &Inspection::found}, Field{"data", &Inspection::data}};
template <>
inline constexpr auto kFields<Checks> =
    std::tuple{Field{"commands", &Checks::commands}, Field{"files", &Checks::files},
               Field{"schemas", &Checks::schemas}, Field{"reviews", &Checks::reviews}};
template <>
inline constexpr auto kFields<NetworkTape> =
    std::tuple{Field{"room", &NetworkTape::room}, Field{"recording", &NetworkTape::recording}};
template <>
inline constexpr auto kFields<RunRequest> =
    std::tuple{Field{"template", &RunRequest::template_name},
               Field{"language", &RunRequest::language},
               Field{"code", &RunRequest::code},
               Field{"name", &RunRequest::name},
               Field{"arguments", &RunRequest::arguments},
               Field{"standard_input", &RunRequest::standard_input},
               Field{"files", &RunRequest::files},
               Field{"env", &RunRequest::env},
               Field{"limits", &RunRequest::limits},
               Field{"tier", &RunRequest::tier},
               Field{"as_root", &RunRequest::as_root},
               Field{"nested", &RunRequest::nested},
               Field{"rules", &RunRequest::rules},
               Field{"verify", &RunRequest::verify},
               Field{"checks", &RunRequest::checks},
               Field{"network", &RunRequest::network},
               Field{"key", &RunRequest::idempotency_key},
               Field{"analysis", &RunRequest::analysis},
               Field{"tape", &RunRequest::tape}};
template <>
inline constexpr auto kFields<JudgeCase> =
    std::tuple{Field{"name", &JudgeCase::name},         Field{"input", &JudgeCase::input},
               Field{"expected", &JudgeCase::expected}, Field{"points", &JudgeCase::points},
               Field{"time", &JudgeCase::time},         Field{"memory", &JudgeCase::memory}};
template <>
inline constexpr auto kFields<JudgeRequest> =
    std::tuple{Field{"program", &JudgeRequest::program},
               Field{"cases", &JudgeRequest::cases},
               Field{"compare", &JudgeRequest::compare},
               Field{"jobs", &JudgeRequest::jobs},
               Field{"stop_at_first", &JudgeRequest::stop_at_first},
               Field{"checker", &JudgeRequest::checker}};
template <>
inline constexpr auto kFields<ProcessRequest> =
    std::tuple{Field{"command", &ProcessRequest::command},
               Field{"user", &ProcessRequest::user},
               Field{"keep_stdin", &ProcessRequest::keep_stdin},
               Field{"tag", &ProcessRequest::tag},
               Field{"timeout", &ProcessRequest::timeout},
               Field{"start_only", &ProcessRequest::start_only},
               Field{"dry_run", kWithin<&ProcessRequest::dry_run, &DryRunWish::wanted>},
               Field{"dry_run_network", kWithin<&ProcessRequest::dry_run, &DryRunWish::network>},
               Field{"dry_run_timeout", kWithin<&ProcessRequest::dry_run, &DryRunWish::timeout>}};
template <>
inline constexpr auto kFields<ProcessInfo> =
    std::tuple{Field{"pid", &ProcessInfo::pid}, Field{"command", &ProcessInfo::command},
               Field{"tag", &ProcessInfo::tag}, Field{"terminal", &ProcessInfo::terminal},
               Field{"alive", &ProcessInfo::alive}};
template <>
inline constexpr auto kFields<ProcessEvent> = std::tuple{
    Field{"kind", &ProcessEvent::kind},      Field{"pid", &ProcessEvent::pid},
    Field{"bytes", &ProcessEvent::bytes},    Field{"exit_code", &ProcessEvent::exit_code},
    Field{"signal", &ProcessEvent::signal},  Field{"reason", &ProcessEvent::reason},
    Field{"dry_run", &ProcessEvent::dry_run}};

}  // namespace glovebox::keeper
