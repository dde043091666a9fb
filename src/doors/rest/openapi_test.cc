// SPDX-License-Identifier: Apache-2.0
#include "doors/rest/openapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "doors/rest/routes.h"
#include "doors/rest/sandbox_json.h"
#include "doors/rest/template_json.h"
#include "service/guarded/replay_records.h"
#include "spec/json/verdict_json.h"

namespace glovebox::rest {
namespace {

const std::vector<std::string> kMethods = {"GET",   "HEAD",   "POST",   "PUT",
                                           "PATCH", "DELETE", "OPTIONS"};

Json document() { return Json::parse(openapi_text(), nullptr, false); }

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return static_cast<char>(c & ~0x20); });
  return text;
}

TEST(OpenApiTest, DescribesTheRoutesThatThereAreAndNoOthers) {
  std::set<std::string> served;
  for (const Route& route : routes()) {
    std::string path(route.pattern);
    if (const std::size_t star = path.find('*'); star != std::string::npos) {
      path.erase(star, 1);
    }
    for (const std::string& method : kMethods) {
      if (route.method == "*" || route.method == method) {
        served.insert(method + " " + path);
      }
    }
  }
  std::set<std::string> described;
  const Json api = document();
  ASSERT_TRUE(api.is_object());
  for (const auto& [path, item] : api["paths"].items()) {
    for (const auto& [method, operation] : item.items()) {
      if (method != "parameters") {
        described.insert(upper(method) + " " + path);
      }
    }
  }
  EXPECT_EQ(described, served);
}

TEST(OpenApiTest, OnlyOpenRoutesAreDescribedAsOpenAndScopesAreNamed) {
  const Json api = document();
  for (const Route& route : routes()) {
    if (route.method == "*") {
      continue;
    }
    std::string path(route.pattern);
    if (const std::size_t star = path.find('*'); star != std::string::npos) {
      path.erase(star, 1);
    }
    std::string method(route.method);
    std::transform(method.begin(), method.end(), method.begin(),
                   [](char c) { return static_cast<char>(c | 0x20); });
    const Json& operation = api["paths"][path][method];
    EXPECT_EQ(operation.contains("security"), route.scope.empty()) << path;
    if (!route.scope.empty()) {
      EXPECT_THAT(operation["summary"].get<std::string>(),
                  testing::EndsWith("Scope " + std::string(route.scope) + "."))
          << path;
    }
  }
}

void collect_references(const Json& json, std::set<std::string>& references) {
  if (json.is_object() && json.contains("$ref")) {
    references.insert(json["$ref"].get<std::string>());
  }
  if (json.is_structured()) {
    for (const auto& item : json) {
      collect_references(item, references);
    }
  }
}

TEST(OpenApiTest, EveryReferenceLeadsSomewhere) {
  const Json api = document();
  std::set<std::string> references;
  collect_references(api, references);
  EXPECT_GT(references.size(), 20);
  for (const std::string& reference : references) {
    ASSERT_TRUE(reference.starts_with("#/"));
    EXPECT_TRUE(api.contains(Json::json_pointer(reference.substr(1)))) << reference;
  }
}

// The names that a body may have are said by its reader when it meets another one.
template <typename T>
std::set<std::string> taken(Result<T> (*read)(Fields&), const std::string& rest) {
  auto fields = Fields::parse(R"({"no such field": 1)" + rest + "}");
  const auto answer = read(*fields);
  if (answer) {
    return {};
  }
  std::string hint = answer.error().hint();
  std::set<std::string> names;
  const std::string prefix = "allowed fields: ";
  EXPECT_TRUE(hint.starts_with(prefix)) << answer.error().message();
  hint = hint.substr(std::min(prefix.size(), hint.size())) + ", ";
  for (std::size_t at = 0, end = 0; (end = hint.find(", ", at)) != std::string::npos;
       at = end + 2) {
    names.insert(hint.substr(at, end - at));
  }
  return names;
}

std::set<std::string> described(const char* schema) {
  const Json api = document();
  std::set<std::string> names;
  for (const auto& [name, value] : api["components"]["schemas"][schema]["properties"].items()) {
    names.insert(name);
  }
  return names;
}

TEST(OpenApiTest, TheFieldsOfBodiesAreThoseThatAreRead) {
  EXPECT_EQ(described("SandboxRequest"), taken(read_sandbox_request, ""));
  EXPECT_EQ(described("SandboxChange"), taken(read_sandbox_change, ""));
  EXPECT_EQ(described("RunRequest"),
            taken(read_run_request, R"(, "code": "1", "language": "python")"));
  EXPECT_EQ(described("JudgeRequest"),
            taken(read_judge_request, R"(, "code": "1", "language": "c", "cases": [{}])"));
  EXPECT_EQ(described("ExecuteRequest"), taken(read_execute_request, R"(, "code": "1")"));
  EXPECT_EQ(described("InputReply"), taken(read_input_reply, ""));
  EXPECT_EQ(described("ToolReply"), taken(read_tool_answer, R"(, "result": 1)"));
  EXPECT_EQ(described("CompletionRequest"), taken(read_completion_request, R"(, "code": "1")"));
  EXPECT_EQ(described("InspectionRequest"), taken(read_inspection_request, R"(, "code": "1")"));
  EXPECT_EQ(described("ProcessRequest"), taken(read_process_request, R"(, "argv": ["a"])"));
  EXPECT_EQ(described("CommandRequest"), taken(read_command_request, R"(, "argv": ["a"])"));
  EXPECT_EQ(described("Terminal"), taken(read_terminal, ""));
  EXPECT_EQ(described("TemplateRecipe"), taken(read_recipe, R"(, "name": "a")"));
  EXPECT_EQ(described("TemplateFile"), taken(read_recipe_file, R"(, "path": "a", "content": "")"));
}

TEST(OpenApiTest, ARecordedRunIsAskedForAgainWithEveryField) {
  const nlohmann::json all{
      {"template", "mine"},
      {"image", "python:3.12-slim"},
      {"language", "python"},
      {"code", "print(1)"},
      {"name", "a.py"},
      {"arguments", {"a", "-b"}},
      {"stdin", "input"},
      {"files", {{"d/f", "file"}}},
      {"env", {{"A", "1"}}},
      {"limits", {{"time", 2.5}, {"memory", 67108864}, {"pids", 20}}},
      {"tier", "native"},
      {"min_tier", "landlock"},
      {"user", "root"},
      {"nested", true},
      {"policy", {"grader"}},
      {"verify", "true"},
      {"checks",
       {{"commands", {"true"}},
        {"files", {"d/f"}},
        {"output_schema", {{"type", "object"}}},
        {"review", "it says what it did"}}},
      {"network", {{"allow", {"example.com:443"}}, {"default", "deny"}, {"deny", {"10.0.0.0/8"}}}},
      {"replay_network", "4nq8zt0c5d2e"}};
  std::set<std::string> names;
  for (const auto& [name, value] : all.items()) {
    names.insert(name);
  }
  EXPECT_EQ(names, described("RunRequest"));
  for (const char* const other : {"template", "image"}) {  // One of the two.
    nlohmann::json body = all;
    body.erase(other);
    auto fields = Fields::parse(body.dump());
    ASSERT_TRUE(fields);
    const auto request = read_run_request(*fields);
    ASSERT_TRUE(request) << request.error().message() << ": " << request.error().hint();
    EXPECT_EQ(nlohmann::json::parse(request_body(*request).dump()), body);
  }
}

TEST(OpenApiTest, ARecordedSandboxAndItsCellsAreAskedForAgain) {
  const nlohmann::json sandbox{
      {"template", "mine"},
      {"env", {{"A", "1"}}},
      {"limits", {{"memory", 67108864}}},
      {"tier", "native"},
      {"min_tier", "landlock"},
      {"user", "user"},
      {"nested", true},
      {"policy", {"untrusted"}},
      {"network", {{"allow", {"a.org:443"}}, {"default", "deny"}, {"deny", {"10.0.0.0/8"}}}}};
  const nlohmann::json context{{"language", "bash"}, {"cwd", "d"}, {"env", {{"A", "1"}}}};
  const nlohmann::json cell{{"code", "1"},     {"env", {{"A", "1"}}}, {"limits", {{"time", 2.5}}},
                            {"recover", true}, {"allow_input", true}, {"store_history", false}};
  const auto again = [](const nlohmann::json& body, auto read) {
    auto fields = Fields::parse(body.dump());
    const auto request = read(*fields);
    EXPECT_TRUE(request) << request.error().message() << ": " << request.error().hint();
    return nlohmann::json::parse(request_body(*request).dump());
  };
  EXPECT_EQ(again(sandbox, read_sandbox_request), sandbox);
  EXPECT_EQ(again(context, read_context_request), context);
  EXPECT_EQ(again(cell, read_execute_request), cell);
  EXPECT_EQ(again({{"code", "1"}, {"dry_run", true}}, read_execute_request),
            nlohmann::json({{"code", "1"}, {"dry_run", true}}));
}

TEST(OpenApiTest, TheLimitsAreThoseOfTheList) {
  std::set<std::string> listed;
  each_wish([&](const auto& field) { listed.insert(field.name); });
  EXPECT_EQ(described("Limits"), listed);
}

TEST(OpenApiTest, ALimitIsReadBackAsItIsWritten) {
  Json written = Json::object();
  LimitWishes wishes;
  each_wish([&](const auto& field) {
    using Value = typename std::decay_t<decltype(field)>::Value;
    wishes.*field.wish = Value(2000);
    written[field.name] = limit_json(Value(2000));
  });
  auto fields = Fields::parse(Json{{"limits", written}}.dump());
  ASSERT_TRUE(fields);
  const auto read = read_limits(*fields);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, wishes);
}

TEST(OpenApiTest, AVerdictHasTheFieldsThatAreDescribed) {
  Verdict verdict;
  verdict.limit = "time";
  verdict.out.bytes = "\xff";
  verdict.err.bytes = "\xff";
  verdict.execution_count = 1;
  verdict.files_truncated = true;
  verdict.notes = {"cut"};
  verdict.walls.network = "rules";
  verdict.more_connections = 1;
  verdict.verification = std::make_shared<const Verdict>();
  verdict.dry_run.emplace();
  verdict.checks.emplace_back();
  std::set<std::string> names;
  const Json encoded = Json::parse(to_json(verdict));
  for (const auto& [name, value] : encoded.items()) {
    names.insert(name);
  }
  EXPECT_EQ(described("Verdict"), names);
}

}  // namespace
}  // namespace glovebox::rest
