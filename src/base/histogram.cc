// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"

#include <algorithm>
#include <charconv>

namespace glovebox {
namespace {

std::string number(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

}  // namespace

void Histogram::add(std::chrono::steady_clock::duration took) {
  const double seconds = std::chrono::duration<double>(took).count();
  const auto* const bound = std::ranges::lower_bound(kBounds, seconds);
  ++buckets_[static_cast<std::size_t>(bound - kBounds.begin())];
  sum_ += seconds;
  ++count_;
}

std::string Histogram::text(std::string_view name, std::string_view labels) const {
  const std::string metric(name);
  const std::string all(labels);
  std::string text;
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    below += buckets_[i];
    text += metric + "_bucket{" + all + (all.empty() ? "" : ",") + "le=\"" +
            (i < kBounds.size() ? number(kBounds[i]) : "+Inf") + "\"} " + std::to_string(below) +
            "\n";
  }
  const std::string braced = all.empty() ? "" : "{" + all + "}";
  text += metric + "_sum" + braced + " " + number(sum_) + "\n";
  text += metric + "_count" + braced + " " + std::to_string(count_) + "\n";
  return text;
}

}  // namespace glovebox
