// SPDX-License-Identifier: Apache-2.0
// Images of container registries, which templates, and the stages of a Dockerfile (FROM
// python:3.12), can begin with. skopeo(1) of the host fetches them in a sandbox of the build,
// behind the build's network rules, so what a registry sends is parsed there and nowhere else.
//
// Source: https://github.com/distribution/reference, for names; skopeo-copy(1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "service/templates/build_network.h"
#include "service/templates/root_source.h"

namespace glovebox {

struct RegistryImage {
  std::string registry;                  // HOST or HOST:PORT; "docker.io" if the name has none.
  std::string reference;                 // In full, as docker.io/library/python:3.12.
  bool plain_http = false;               // Asked for by http:// in front.
  std::optional<RegistryLogin> login{};  // With a password, if it is for this registry.
};

// kInvalid for what is not a name of an image.
Result<RegistryImage> parse_registry_image(std::string_view name);

// The name of the template that is this image and nothing more: it says which image, and no other
// image has it.
std::string template_name_of(const RegistryImage& image);

// Its root, as that of an image that was imported. The image is fetched each time; unpacking it is
// not repeated. kUnsupported if the host has no skopeo, kInvalid if the registry has no such image
// or the rules do not let it be reached. `scratch` is a directory of the build's, which never sees
// the login.
Result<RootContent> root_from_registry(const RegistryImage& image,
                                       const BuildNetwork& network,
                                       const ContentStore& store,
                                       const std::string& scratch,
                                       BuildMonitor& monitor);

}  // namespace glovebox
