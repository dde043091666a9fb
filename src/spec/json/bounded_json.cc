// SPDX-License-Identifier: Apache-2.0
#include "spec/json/bounded_json.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json/json.h"
#include "base/text.h"

namespace glovebox {
namespace {

using nlohmann::json;

constexpr std::size_t kLarge = 64UL * 1024;
constexpr std::size_t kMostAtOnce = 64UL << 20;
constexpr std::chrono::seconds kPatience{5};

class Turns {
 public:
  // Whether there is room for so many bytes, now or soon.
  bool take(std::size_t bytes) {
    std::unique_lock lock(mutex_);
    const bool room =
        freed_.wait_for(lock, kPatience, [&] { return taken_ + bytes <= kMostAtOnce; });
    taken_ += room ? bytes : 0;
    return room;
  }
  void give_back(std::size_t bytes) {
    {
      const std::scoped_lock lock(mutex_);
      taken_ -= bytes;
    }
    freed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  std::size_t taken_ = 0;
};

Turns& turns() {
  static Turns turns;
  return turns;
}

// Builds the value, and stops at the first bound that is reached.
class Builder final : public nlohmann::json_sax<json> {
 public:
  explicit Builder(JsonBounds bounds) : bounds_(bounds) {}

  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return add(value) != nullptr;
  }
  bool string(string_t& value) override { return add(std::move(value)) != nullptr; }
  bool binary(binary_t& value) override {  // In CBOR alone.
    return add(json::binary(std::move(value))) != nullptr;
  }
  bool start_object(std::size_t /*size*/) override { return open(json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (!count()) {
      return false;
    }
    const auto [at, fresh] = open_.back()->emplace(name, nullptr);
    if (!fresh && !bounds_.names_twice) {
      return refuse("duplicate name '" + printable(name.substr(0, 64)) + "'");
    }
    member_ = &*at;
    return true;
  }
  bool parse_error(std::size_t position,
                   const std::string& /*token*/,
                   const json::exception& /*error*/) override {
    return refuse("invalid JSON at byte " + std::to_string(position));
  }

  // After the parser has ended.
  Result<json> take() && {
    return wrong_ ? Result<json>(Error(ErrorCode::kInvalid, *std::move(wrong_))) : std::move(root_);
  }

 private:
  bool refuse(std::string why) {
    if (!wrong_) {
      wrong_ = std::move(why);
    }
    return false;
  }

  bool count() {
    return ++values_ <= bounds_.values ||
           refuse("the JSON has more than " + std::to_string(bounds_.values) + " values");
  }

  // Where the value is now; null when there is no room.
  json* add(json value) {
    if (!count()) {
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& above = *open_.back();
    if (above.is_array()) {
      above.push_back(std::move(value));
      return &above.back();
    }
    *member_ = std::move(value);
    return member_;
  }

  bool open(json value) {
    if (open_.size() >= bounds_.depth) {
      return refuse("the JSON is nested too deeply");
    }
    json* const added = add(std::move(value));
    if (added == nullptr) {
      return false;
    }
    open_.push_back(added);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  const JsonBounds bounds_;
  json root_;
  std::vector<json*> open_;  // From the outermost. What holds one does not grow while it is open.
  json* member_ = nullptr;   // Of the innermost object, whose value comes next.
  std::size_t values_ = 0;
  std::optional<std::string> wrong_;
};

Result<json> build(std::string_view text,
                   JsonBounds bounds,
                   json::input_format_t format = json::input_format_t::json) {
  Builder builder(bounds);
  (void)json::sax_parse(text.begin(), text.end(), &builder, format);
  return std::move(builder).take();
}

}  // namespace

Result<json> parse_json(std::string_view text, JsonBounds bounds) {
  if (text.size() < kLarge) {
    return build(text, bounds);
  }
  const std::size_t bytes = std::min(text.size(), kMostAtOnce);
  if (!turns().take(bytes)) {
    return Error(ErrorCode::kUnavailable, "too many large requests are being read",
                 "try again in 5 s");
  }
  struct GiveBack {
    std::size_t bytes;
    ~GiveBack() { turns().give_back(bytes); }
  } const give_back{bytes};
  return build(text, bounds);
}

Result<json> parse_cbor(std::string_view bytes, JsonBounds bounds) {
  return build(bytes, bounds, json::input_format_t::cbor);
}

}  // namespace glovebox
