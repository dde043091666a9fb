// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/tokens.h"

#include <gtest/gtest.h>

#include "doors/e2b/notes.h"

namespace glovebox::e2b {
namespace {

TEST(SignatureTest, IsTheOneThatClientsCompute) {
  const SignedRequest request{.path = "hello.txt",
                              .writes = false,
                              .user = "user",
                              .expiration = {}};

  EXPECT_EQ(signature_of(request, "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0"),
            "v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E");
}

TEST(SignatureTest, ChangesWithEverythingThatItSigns) {
  const SignedRequest plain{.path = "a", .writes = false, .user = "", .expiration = {}};
  const std::string signature = signature_of(plain, "token");
  SignedRequest other = plain;
  other.writes = true;
  EXPECT_NE(signature_of(other, "token"), signature);
  other = plain;
  other.user = "root";
  EXPECT_NE(signature_of(other, "token"), signature);
  other = plain;
  other.expiration = "1";
  EXPECT_NE(signature_of(other, "token"), signature);
  EXPECT_NE(signature_of(plain, "Token"), signature);
}

TEST(TokenTest, TellsItsTenantAndIsNeverTheSame) {
  const auto token = make_token("tenant \x01/ü");
  EXPECT_EQ(tenant_of_token(token), "tenant \x01/ü");
  EXPECT_NE(make_token("a"), make_token("a"));
}

TEST(TokenTest, MalformedOnesTellNobody) {
  for (const char* token : {"", "abc", "6.x", "zz.00", "6G.00"}) {
    EXPECT_FALSE(tenant_of_token(token)) << token;
  }
}

TEST(TokensTest, NothingEqualsAnEmptySecret) {
  EXPECT_FALSE(equal_secrets("", ""));
  EXPECT_FALSE(equal_secrets("x", ""));
  EXPECT_FALSE(equal_secrets("ab", "abc"));
  EXPECT_TRUE(equal_secrets("abc", "abc"));
}

TEST(NotesTest, ComeBackAsTheyWereBesideWhatOthersKeep) {
  auto notes = make_notes("t");
  ASSERT_TRUE(notes);
  notes->internet = false;
  notes->template_id = "base";
  notes->network = {{"maskRequestHost", "a.example"}};
  notes->contexts["python"].made = "c1";

  const std::string extra = write_notes(R"({"other":[1]})", *notes);
  const auto read = read_notes(extra);

  ASSERT_TRUE(read);
  EXPECT_EQ(read->access_token, notes->access_token);
  EXPECT_EQ(read->traffic_token, notes->traffic_token);
  EXPECT_EQ(read->internet, false);
  EXPECT_EQ(read->template_id, "base");
  EXPECT_EQ(read->network, notes->network);
  EXPECT_EQ(read->contexts.at("python").made, "c1");
  EXPECT_EQ(read->contexts.at("javascript").id, notes->contexts.at("javascript").id);
  EXPECT_NE(extra.find(R"("other":[1])"), std::string::npos);
}

TEST(NotesTest, ASandboxOfAnotherDoorHasNone) {
  EXPECT_FALSE(read_notes("{}"));
  EXPECT_FALSE(read_notes("broken"));
}

}  // namespace
}  // namespace glovebox::e2b
