// SPDX-License-Identifier: Apache-2.0
#include "checker/schema.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox::checker {
namespace {

constexpr std::string_view kReport = R"({
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "required": ["total", "rows"],
  "additionalProperties": false,
  "properties": {
    "total": {"type": "integer", "minimum": 0},
    "rows": {"type": "array", "items": {"$ref": "#/definitions/row"}}
  },
  "definitions": {"row": {"type": "object", "required": ["name"],
                          "properties": {"name": {"type": "string", "pattern": "^[a-z]+$"}}}}
})";

std::string reason(std::string_view schema, std::string_view document) {
  const auto done = conforms(schema, document);
  return done ? "" : done.error().message();
}

TEST(Schema, IsMetByADocumentThatConforms) {
  EXPECT_EQ(reason(kReport, R"({"total": 1, "rows": [{"name": "a"}]})"), "");
}

TEST(Schema, NamesThePlaceOfWhatDoesNotConform) {
  EXPECT_NE(reason(kReport, R"({"total": 1, "rows": [{"name": "a"}, {"name": "B"}]})")
                .find("[rows][1][name]"),
            std::string::npos);
  EXPECT_NE(reason(kReport, R"({"total": "1", "rows": []})"), "");
  EXPECT_NE(reason(kReport, R"({"total": 1, "rows": [], "more": 1})"), "");
  EXPECT_NE(reason(kReport, R"({"rows": []})"), "");
}

TEST(Schema, IsNotMetByWhatIsNotJson) {
  EXPECT_NE(reason("{}", "").find("not JSON"), std::string::npos);
  EXPECT_NE(reason("{}", "1 2").find("not JSON"), std::string::npos);
  EXPECT_NE(reason("{}", R"({"a": 1, "a": 2})").find("not JSON"), std::string::npos);
  EXPECT_NE(reason("{}", std::string(100, '[') + std::string(100, ']')).find("not JSON"),
            std::string::npos);
}

TEST(Schema, LeadsOnlyIntoItself) {
  for (const char* const place :
       {"http://json-schema.org/draft-07/schema#", "file:///etc/passwd", "other.json#/a"}) {
    EXPECT_NE(reason(R"({"$ref": ")" + std::string(place) + R"("})", "1"), "") << place;
  }
}

TEST(Schema, IsRefusedWhereItAsksForWhatIsNotChecked) {
  for (const char* const schema :
       {R"({"prefixItems": [{"type": "string"}]})", R"({"items": {"unevaluatedItems": false}})",
        R"({"properties": {"a": {"format": "email"}}})",
        R"({"anyOf": [{"dependentRequired": {"a": ["b"]}}]})",
        R"({"$schema": "https://json-schema.org/draft/2020-12/schema"})",
        R"({"not": {"minContains": 2}})"}) {
    EXPECT_NE(reason(schema, "[1]").find("not checked here"), std::string::npos) << schema;
  }
  EXPECT_EQ(
      reason(R"({"properties": {"prefixItems": {"type": "integer"}}})", R"({"prefixItems": 1})"),
      "");
}

TEST(Schema, FollowsReferencesToWhereNoKeywordLeads) {
  const std::string hidden =
      R"({"$ref": "#/ours/row", "ours": {"row": {"items": {"unevaluatedItems": false}}}})";
  EXPECT_NE(reason(hidden, "[[1]]").find("'unevaluatedItems'"), std::string::npos);
  // Round and round.
  EXPECT_EQ(reason(R"({"properties": {"next": {"$ref": "#"}}})", R"({"next": {"next": {}}})"), "");
  for (const std::string_view place : {"#/definitions/none", "#/a%20b", "row.json", "#row"}) {
    EXPECT_NE(reason(R"({"definitions": {}, "$ref": ")" + std::string(place) + R"("})", "1"), "")
        << place;
  }
}

TEST(Schema, IsRefusedWhereItIsNone) {
  EXPECT_NE(reason("", "1").find("the schema"), std::string::npos);
  EXPECT_NE(reason(R"({"type": 1})", "1").find("the schema"), std::string::npos);
  EXPECT_NE(reason(R"({"pattern": "("})", R"("a")").find("the schema"), std::string::npos);
}

}  // namespace
}  // namespace glovebox::checker
