// SPDX-License-Identifier: Apache-2.0
#include "service/templates/image_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json/json.h"

namespace glovebox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ImageConfig, KeepsWhatAnImageSays) {
  const auto config = read_image_config(
      R"({"User":"app:staff","WorkingDir":"/srv","Entrypoint":["/bin/tool","-v"],"Cmd":["serve"],
          "ExposedPorts":{"80/tcp":{}},"Volumes":{"/data":{}},"Labels":{"a":"b"},
          "StopSignal":"SIGINT","Healthcheck":{"Test":["NONE"]},"OnBuild":null})");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->user, "app:staff");
  EXPECT_EQ(config->directory, "/srv");
  EXPECT_THAT(config->ports, ElementsAre("80/tcp"));
  EXPECT_THAT(config->volumes, ElementsAre("/data"));
  EXPECT_EQ(config->stop_signal, "SIGINT");
  EXPECT_TRUE(config->has_healthcheck);
  EXPECT_THAT(config->command({}), ElementsAre("/bin/tool", "-v", "serve"));
  EXPECT_THAT(config->command({"x"}), ElementsAre("/bin/tool", "-v", "x"));
  auto again = parse_image_config(to_json(*config));
  ASSERT_TRUE(again);
  again->has_healthcheck = true;
  EXPECT_EQ(*again, *config);
}

TEST(ImageConfig, NullIsAsGoodAsNothing) {
  EXPECT_TRUE(read_image_config("null"));
  const auto config = read_image_config(R"({"User":null,"Cmd":null,"Labels":null})");
  ASSERT_TRUE(config);
  EXPECT_EQ(*config, ImageConfig());
}

TEST(ImageConfig, RefusesWhatIsNoConfiguration) {
  for (const char* const text :
       {R"([])", R"({"User":7})", R"({"User":"a\nb"})", R"({"WorkingDir":"srv"})",
        R"({"Cmd":"ls"})", R"({"Cmd":[1]})", R"({"Entrypoint":["a\u0000b"]})", R"({"Labels":[]})",
        R"({"Labels":{"a":1}})", R"({"ExposedPorts":["80"]})"}) {
    EXPECT_FALSE(read_image_config(text)) << text;
  }
  const std::string large = R"({"Labels":{"a":")" + std::string(60'000, 'x') + "\"}}";
  const auto refused = read_image_config(large);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("larger than 48 KiB"));
}

}  // namespace
}  // namespace glovebox
