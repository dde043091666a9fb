// SPDX-License-Identifier: Apache-2.0
#include "small_root.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/sys/tree.h"

namespace glovebox::conformance {
namespace {

namespace fs = std::filesystem;

void copy_to(const std::string& root, const std::string& path) {
  // Where a merged /usr has it, so that both of its names lead there.
  const std::string place = path.starts_with("/usr/") ? path : "/usr" + path;
  fs::create_directories(fs::path(root + place).parent_path());
  fs::copy_file(path, root + place, fs::copy_options::skip_existing);
}

// The absolute paths that ldd(1) names for a program.
std::vector<std::string> libraries_of(const std::string& program) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(("ldd " + program).c_str(), "r"),
                                                   ::pclose);
  std::string text;
  for (int c = 0; pipe && (c = std::fgetc(pipe.get())) != EOF;) {
    text.push_back(static_cast<char>(c));
  }
  std::vector<std::string> paths;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word.front() == '/') {
      paths.push_back(word);
    }
  }
  return paths;
}

}  // namespace

SmallRoot::SmallRoot() : directory_("/tmp/glovebox-root-XXXXXX") {
  if (::mkdtemp(directory_.data()) == nullptr) {
    std::abort();
  }
  for (const char* const name : {"bin", "lib", "lib64"}) {
    fs::create_directories(path() + "/usr/" + name);
    fs::create_directory_symlink(std::string("usr/") + name, path() + "/" + name);
  }
  for (const char* const program :
       {"/usr/bin/bash", "/usr/bin/ls", "/usr/bin/cat", "/usr/bin/id"}) {
    copy_to(path(), program);
    for (const std::string& library : libraries_of(program)) {
      copy_to(path(), library);
    }
  }
  fs::create_symlink("bash", path() + "/usr/bin/sh");
}

SmallRoot::~SmallRoot() { (void)sys::remove_tree(directory_); }

void SmallRoot::add_file(const std::string& name, const std::string& text) const {
  fs::create_directories(fs::path(path() + "/" + name).parent_path());
  std::ofstream(path() + "/" + name) << text;
}

void SmallRoot::add_link(const std::string& name, const std::string& target) const {
  fs::create_symlink(target, path() + "/" + name);
}

}  // namespace glovebox::conformance
