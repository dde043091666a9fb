// SPDX-License-Identifier: Apache-2.0
#include "language/java_source.h"

#include <string>

#include <gtest/gtest.h>

namespace glovebox {
namespace {

TEST(JavaSourceTest, TakesThePublicClass) {
  const JavaNames names = java_names("class A {} public final class B { }");

  EXPECT_EQ(names.file_stem, "B");
  EXPECT_EQ(names.main_class, "B");
}

TEST(JavaSourceTest, StartsTheClassThatHasMain) {
  const JavaNames names =
      java_names("public class A {} class B { public static void main(String[] a) {} }");

  EXPECT_EQ(names.file_stem, "A");
  EXPECT_EQ(names.main_class, "B");
}

TEST(JavaSourceTest, TakesTheFirstTypeWhereNoneIsPublic) {
  const JavaNames names = java_names("import java.util.*;\nrecord A(int x) {} enum B { X }");

  EXPECT_EQ(names.file_stem, "");
  EXPECT_EQ(names.main_class, "A");
}

TEST(JavaSourceTest, PutsThePackageInFront) {
  EXPECT_EQ(java_names("package com . acme ;\nclass A {}").main_class, "com.acme.A");
}

TEST(JavaSourceTest, SkipsCommentsStringsAndCharacters) {
  const JavaNames names = java_names(R"java(
    // public class No1 {}
    /* public class No2 { */
    class A {
      String s = "} public class No3 { \" public class No4 {";
      char c = '{', d = '\'', e = '}';
      String t = """
        } public class No5 {
        """;
    }
    public interface Yes {}
  )java");

  EXPECT_EQ(names.file_stem, "Yes");
}

TEST(JavaSourceTest, IgnoresNestedTypesAndTheirMain) {
  const JavaNames names = java_names(
      "class A { public static class N { static void main(String[] a) {} } }"
      "class B { static void main(String[] a) {} }");

  EXPECT_EQ(names.file_stem, "");
  EXPECT_EQ(names.main_class, "B");
}

TEST(JavaSourceTest, IgnoresModifiersOfAnotherDeclaration) {
  EXPECT_EQ(java_names("public @interface Mark {} class A {}").file_stem, "Mark");
  EXPECT_EQ(java_names("public abstract sealed class A permits B {} final class B extends A {}")
                .file_stem,
            "A");
}

TEST(JavaSourceTest, SurvivesWhatIsNoJava) {
  EXPECT_EQ(java_names(""), JavaNames{});
  EXPECT_EQ(java_names("}}}} \" /* "), JavaNames{});
  EXPECT_EQ(java_names("public class"), JavaNames{});
  EXPECT_EQ(java_names("class /"), JavaNames{});
  EXPECT_EQ(java_names("'\\"), JavaNames{});
  EXPECT_EQ(java_names("class " + std::string(100'000, 'x')), JavaNames{});
}

}  // namespace
}  // namespace glovebox
