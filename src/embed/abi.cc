// SPDX-License-Identifier: Apache-2.0
// The functions of glovebox.h. No exception leaves them.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "embed/engine.h"
#include "embed/exchange.h"
#include "embed/glovebox.h"

struct glovebox_engine {
  std::unique_ptr<glovebox::embed::Engine> engine;
};

struct glovebox_response {
  glovebox::embed::CallResponse response;
};

namespace {

using glovebox::Error;
using glovebox::ErrorCode;
using glovebox::Result;
namespace embed = glovebox::embed;

constexpr std::size_t kUsualMostBody = 64U << 20;
constexpr std::size_t kMostHeaders = 64;
constexpr std::size_t kMostWords = 256;

static_assert(static_cast<int>(ErrorCode::kInvalid) + 1 == GLOVEBOX_INVALID);
static_assert(static_cast<int>(ErrorCode::kUnavailable) + 1 == GLOVEBOX_UNAVAILABLE);
static_assert(static_cast<int>(ErrorCode::kInternal) + 1 == GLOVEBOX_INTERNAL);

// As much as there is room for, with a NUL; no part of a character of UTF-8 at the end.
void copy_text(const std::string& text, char* into, std::size_t room) {
  const std::string_view kept = glovebox::cut_at_character(text, room - 1);
  std::memcpy(into, kept.data(), kept.size());
  into[kept.size()] = '\0';
}

int fail(const Error& failure, glovebox_error* error) {
  const int code = static_cast<int>(failure.code()) + 1;
  if (error != nullptr && error->size >= sizeof *error) {
    error->code = code;
    copy_text(failure.message(), error->message, sizeof error->message);
    copy_text(failure.hint(), error->hint, sizeof error->hint);
  }
  return code;
}

// Calls `work`, which returns a Result<void>.
template <typename Work>
int guarded(glovebox_error* error, Work work) {
  try {
    const Result<void> done = work();
    return done ? GLOVEBOX_OK : fail(done.error(), error);
  } catch (const std::bad_alloc&) {
    return fail(Error(ErrorCode::kExhausted, "no memory"), error);
  } catch (const std::exception& thrown) {
    return fail(Error(ErrorCode::kInternal, thrown.what()), error);
  }
}

// What the caller's structure says as far as this library knows it. One that is smaller than ours
// was written for an older header; what a larger one says beyond must be zero.
template <typename Struct>
Result<Struct> known_part(const Struct* given) {
  constexpr std::size_t kLargest = 4'096;
  Struct known{};
  if (given == nullptr) {
    return known;
  }
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size <= sizeof size || size > kLargest) {
    return Error(ErrorCode::kInvalid, "a structure does not say its size",
                 "set its member 'size' to sizeof of the structure");
  }
  std::memcpy(&known, given, std::min(size, sizeof known));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t at = sizeof known; at < size; ++at) {
    if (bytes[at] != 0) {
      return Error(ErrorCode::kUnsupported, "this library is older than the program's header",
                   "install a newer libglovebox, or leave out what it does not know");
    }
  }
  return known;
}

Result<embed::EngineOptions> options_of(const glovebox_options* given) {
  const glovebox_options known = GB_TRY(known_part(given));
  embed::EngineOptions options;
  if (known.word_count > kMostWords || (known.word_count > 0 && known.words == nullptr)) {
    return Error(ErrorCode::kInvalid, "invalid words of the options");
  }
  for (std::size_t at = 0; at < known.word_count; ++at) {
    options.words.emplace_back(known.words[at]);
  }
  options.programs = known.programs == nullptr ? "" : known.programs;
  options.log = known.log > 0 ? known.log : -1;
  return options;
}

Result<embed::CallRequest> request_of(const glovebox_request* given) {
  const glovebox_request known = GB_TRY(known_part(given));
  if (known.method == nullptr || known.target == nullptr || known.header_count > kMostHeaders ||
      (known.header_count > 0 && known.headers == nullptr)) {
    return Error(ErrorCode::kInvalid, "a request needs a method and a target, and has at most " +
                                          std::to_string(kMostHeaders) + " headers");
  }
  embed::CallRequest request{.method = known.method, .target = known.target};
  if (known.body != nullptr) {
    request.body = known.body_size > 0 ? std::string_view(known.body, known.body_size)
                                       : std::string_view(known.body);
    request.headers.push_back("Content-Type: " + std::string(known.content_type == nullptr
                                                                 ? "application/json"
                                                                 : known.content_type));
  }
  for (std::size_t at = 0; at < known.header_count; ++at) {
    request.headers.emplace_back(known.headers[at]);
  }
  if (known.silence_ms > 0) {
    request.silence = std::chrono::milliseconds(std::min<unsigned>(known.silence_ms, INT32_MAX));
  }
  request.most_body = known.most_body > 0 ? known.most_body : kUsualMostBody;
  if (known.on_piece != nullptr) {
    request.on_piece = [take = known.on_piece, data = known.data](std::string_view piece) {
      return take(data, piece.data(), piece.size()) == 0;
    };
  }
  return request;
}

}  // namespace

extern "C" {

const char* glovebox_version(void) { return GB_VERSION; }

int glovebox_open(const glovebox_options* options,
                  glovebox_engine** engine,
                  glovebox_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (engine == nullptr) {
      return Error(ErrorCode::kInvalid, "there is no place for the engine");
    }
    *engine = nullptr;
    auto made = std::make_unique<glovebox_engine>();
    made->engine = GB_TRY(embed::Engine::start(GB_TRY(options_of(options))));
    *engine = made.release();
    return {};
  });
}

int glovebox_connect(glovebox_engine* engine, int* connection, glovebox_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (engine == nullptr || connection == nullptr) {
      return Error(ErrorCode::kInvalid, "there is no engine, or no place for the connection");
    }
    *connection = GB_TRY(engine->engine->connect()).release();
    return {};
  });
}

int glovebox_call(glovebox_engine* engine,
                  const glovebox_request* request,
                  glovebox_response** response,
                  glovebox_error* error) {
  bool stopped = false;
  const int code = guarded(error, [&]() -> Result<void> {
    if (engine == nullptr || request == nullptr || response == nullptr) {
      return Error(ErrorCode::kInvalid,
                   "there is no engine, no request, or no place for a response");
    }
    *response = nullptr;
    const embed::CallRequest wanted = GB_TRY(request_of(request));
    glovebox::UniqueFd connection = GB_TRY(engine->engine->borrow());
    embed::Exchange made = GB_TRY(embed::exchange(connection.get(), wanted));
    if (made.reusable) {
      engine->engine->give_back(std::move(connection));
    }
    stopped = made.outcome == embed::Outcome::kStopped;
    if (!stopped) {
      *response = new glovebox_response{std::move(made.response)};
    }
    return {};
  });
  return stopped ? static_cast<int>(GLOVEBOX_STOPPED) : code;
}

int glovebox_response_status(const glovebox_response* response) {
  return response->response.status;
}

const char* glovebox_response_body(const glovebox_response* response, size_t* size) {
  if (size != nullptr) {
    *size = response->response.body.size();
  }
  return response->response.body.c_str();
}

const char* glovebox_response_header(const glovebox_response* response, const char* name) {
  const std::string wanted = glovebox::lower_case(name == nullptr ? "" : name);
  for (const auto& [each, value] : response->response.headers) {
    if (each == wanted) {
      return value.c_str();
    }
  }
  return nullptr;
}

void glovebox_response_free(glovebox_response* response) { delete response; }

void glovebox_close(glovebox_engine* engine) { delete engine; }

}  // extern "C"
