// SPDX-License-Identifier: Apache-2.0
#include "cli/judge_report.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.h"

namespace glovebox::cli {
namespace {

using judge::CaseReport;
using judge::Report;
using judge::Ruling;

double in_ms(std::chrono::microseconds time) { return static_cast<double>(time.count()) / 1000; }

std::string number(double value) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.10g", value);
  return text.data();
}

// XML 1.0 allows only three control characters, and only UTF-8.
std::string xml(std::string_view bytes) {
  std::string text;
  for (const char c : to_utf8(bytes)) {
    switch (c) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '"':
        text += "&quot;";
        break;
      default:
        text += static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t' ? c : '?';
    }
  }
  return text;
}

std::string seconds(std::chrono::microseconds time) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.3f", static_cast<double>(time.count()) / 1e6);
  return text.data();
}

}  // namespace

std::string line_of(const CaseReport& report) {
  std::array<char, 64> use{};
  (void)std::snprintf(use.data(), use.size(), "%8.1f ms %10s", in_ms(report.usage.wall),
                      to_string(report.usage.memory_peak).c_str());
  std::string text(to_string(report.ruling));
  text.resize(std::max<std::size_t>(text.size(), 4), ' ');
  text += std::string(use.data()) + "  " + printable(report.name);
  if (!report.message.empty()) {
    // The last line of a traceback says what was wrong.
    const std::string last = report.message.substr(report.message.rfind('\n') + 1);
    text += ": " + printable(last);
  }
  return text;
}

std::string total_of(const Report& report) {
  const auto accepted = std::ranges::count(report.cases, Ruling::kAccepted, &CaseReport::ruling);
  return std::string(to_string(report.ruling)) + ", " + std::to_string(accepted) + " of " +
         std::to_string(report.cases.size()) + " cases accepted, " + number(report.points) +
         " of " + number(report.points_of) + " points";
}

std::string judge_junit(const Report& report, const std::string& name) {
  std::size_t failures = 0;
  std::size_t skipped = 0;
  std::chrono::microseconds whole{0};
  std::string cases;
  for (const CaseReport& each : report.cases) {
    whole += each.usage.wall;
    cases += "  <testcase classname=\"" + xml(name) + "\" name=\"" + xml(each.name) + "\" time=\"" +
             seconds(each.usage.wall) + "\"";
    if (each.ruling == Ruling::kAccepted) {
      cases += "/>\n";
    } else if (each.ruling == Ruling::kSkipped) {
      ++skipped;
      cases += "><skipped/></testcase>\n";
    } else {
      ++failures;
      cases += "><failure type=\"" + std::string(to_string(each.ruling)) + "\" message=\"" +
               std::string(to_string(each.ruling)) + "\">" +
               xml(each.ruling == Ruling::kCompileError ? report.compiler_output : each.message) +
               "</failure></testcase>\n";
    }
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"" + xml(name) +
         "\" tests=\"" + std::to_string(report.cases.size()) + "\" failures=\"" +
         std::to_string(failures) + "\" errors=\"0\" skipped=\"" + std::to_string(skipped) +
         "\" time=\"" + seconds(whole) + "\">\n" + cases + "</testsuite>\n";
}

}  // namespace glovebox::cli
