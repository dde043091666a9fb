// SPDX-License-Identifier: Apache-2.0
// What javac and java need to know about a Java source text, which is named after what it holds.
#pragma once

#include <string>
#include <string_view>

namespace glovebox {

struct JavaNames {
  std::string file_stem;   // "Shop": the file must be Shop.java. Empty: any name will do.
  std::string main_class;  // "com.acme.Shop": what `java` starts. Empty: no type was found.
  friend bool operator==(const JavaNames&, const JavaNames&) = default;
};

// Looks at words and braces only; comments, strings and text blocks are skipped. A text that is not
// Java gives empty names, and the compiler's own message tells the user.
JavaNames java_names(std::string_view code);

}  // namespace glovebox
