// SPDX-License-Identifier: Apache-2.0
#include "mime_values.h"

#include <string>

#include <gtest/gtest.h>

namespace glovebox::jupyter {
namespace {

TEST(MimeValues, SmallValuesPassUnchanged) {
  MimeValues values(100);
  const Json bundle{{"text/plain", "x"}, {"application/json", {{"a", {1, 2}}}}};
  EXPECT_EQ(values.translate(bundle), bundle);
}

TEST(MimeValues, LinesAreJoinedButNotThoseOfJson) {
  MimeValues values(100);
  EXPECT_EQ(values.translate({{"text/html", {"<p>", "x"}}, {"application/x+json", {"a", "b"}}}),
            Json({{"text/html", "<p>x"}, {"application/x+json", {"a", "b"}}}));
}

TEST(MimeValues, Base64HasNoLineBreaksAndSvgKeepsThem) {
  MimeValues values(100);
  EXPECT_EQ(values.translate({{"image/png", "iVBO\r\nRw0K\n"}, {"image/svg+xml", "<svg>\n"}}),
            Json({{"image/png", "iVBORw0K"}, {"image/svg+xml", "<svg>\n"}}));
}

TEST(MimeValues, WidgetsAreLeftOutForTheirPlainText) {
  MimeValues values(100);
  EXPECT_EQ(values.translate({{"application/vnd.jupyter.widget-view+json", {{"model_id", "m"}}},
                              {"text/plain", "IntSlider(value=0)"}}),
            Json({{"text/plain", "IntSlider(value=0)"}}));
}

TEST(MimeValues, WhatIsNoBundleIsAnEmptyOne) {
  MimeValues values(100);
  EXPECT_EQ(values.translate(Json::array({1})), Json::object());
}

TEST(MimeValues, OneByteOverTheLimitGoesByReferenceAndIsFetchedInPieces) {
  MimeValues values(4);
  const Json bundle = values.translate({{"text/plain", "12345"}, {"text/html", "1234"}});
  EXPECT_EQ(bundle.at("text/html"), "1234");
  EXPECT_EQ(bundle.at("text/plain").at("size"), 5);
  const Json ref = bundle.at("text/plain").at("ref");
  EXPECT_EQ(values.fetch({{"ref", ref}, {"offset", 0}, {"size", 3}}),
            Json({{"base64", "MTIz"}, {"size", 5}}));
  EXPECT_EQ(values.fetch({{"ref", ref}, {"offset", 3}, {"size", 99}}),
            Json({{"base64", "NDU="}, {"size", 5}}));
  EXPECT_EQ(values.fetch({{"ref", ref}, {"offset", 7}}), Json({{"base64", ""}, {"size", 5}}));
}

TEST(MimeValues, BadFetchesAreAnsweredWithAnError) {
  MimeValues values(0);
  const Json ref = values.translate({{"text/plain", "x"}}).at("text/plain").at("ref");
  EXPECT_TRUE(values.fetch({{"ref", "r99"}}).contains("error"));
  EXPECT_TRUE(values.fetch({{"ref", ref}, {"offset", -1}}).contains("error"));
  EXPECT_TRUE(values.fetch({{"ref", ref}, {"size", -1}}).contains("error"));
}

TEST(MimeValues, TheNewestAreKept) {
  MimeValues values(10);
  const std::string half(MimeValues::kMaxKept / 2, 'x');
  const auto keep = [&values, &half] {
    return values.translate({{"text/plain", half}}).at("text/plain").at("ref");
  };
  const Json first = keep();
  const Json second = keep();
  const Json third = keep();
  EXPECT_TRUE(values.fetch({{"ref", first}, {"size", 1}}).contains("error"));
  EXPECT_FALSE(values.fetch({{"ref", second}, {"size", 1}}).contains("error"));
  EXPECT_FALSE(values.fetch({{"ref", third}, {"size", 1}}).contains("error"));
}

TEST(MimeValues, ABundleHasAMostNumberOfTypes) {
  MimeValues values(10);
  Json bundle = Json::object();
  for (int i = 0; i < 1000; ++i) {
    bundle["text/" + std::to_string(i)] = "x";
  }
  EXPECT_EQ(values.translate(bundle).size(), MimeValues::kMaxTypes);
}

}  // namespace
}  // namespace glovebox::jupyter
