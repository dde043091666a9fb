// SPDX-License-Identifier: Apache-2.0
#include "context/notebook/collect.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::notebook {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class OutputCollectorTest : public ::testing::Test {
 protected:
  OutputCollectorTest() { notebook_.cells.resize(2); }

  static Event text_event(Event::Kind kind, std::string text) {
    Event event;
    event.kind = kind;
    event.text = std::move(text);
    return event;
  }
  static Event out(std::string text) { return text_event(Event::Kind::kStdout, std::move(text)); }
  static Event err(std::string text) { return text_event(Event::Kind::kStderr, std::move(text)); }
  static Event clear(bool wait) {
    Event event;
    event.kind = Event::Kind::kClear;
    event.update = wait;
    return event;
  }
  static Event display(const std::string& text, std::string id = {}, bool update = false) {
    Event event;
    event.kind = Event::Kind::kDisplay;
    event.data["text/plain"] = '"' + text + '"';
    event.display_id = std::move(id);
    event.update = update;
    return event;
  }

  void run(std::size_t cell, const std::vector<Event>& events) {
    collector_.begin(cell);
    for (const Event& event : events) {
      collector_.add(event);
    }
    collector_.finish();
  }
  // Streams as their text, anything else as its plain value.
  std::vector<std::string> shown(std::size_t cell) {
    std::vector<std::string> texts;
    for (const Output& output : notebook_.cells.at(cell).outputs) {
      texts.push_back(output.kind == Output::Kind::kStream ? output.text
                                                           : output.data.at("text/plain"));
    }
    return texts;
  }

  Notebook notebook_;
  OutputCollector collector_{notebook_, {.size = 1_KiB, .outputs = 5}};
};

TEST_F(OutputCollectorTest, MergesAdjacentPiecesOfOneStream) {
  run(0, {out("a"), out("b\n"), err("c"), out("d")});
  EXPECT_THAT(shown(0), ElementsAre("ab\n", "c", "d"));
  EXPECT_EQ(notebook_.cells[0].outputs[1].name, "stderr");
}

TEST_F(OutputCollectorTest, CarriageReturnsOverwriteTheLineAcrossPieces) {
  run(0, {out("first\n10%\r"), out("100%"), out("\r200"), out("\nlast")});
  EXPECT_THAT(shown(0), ElementsAre("first\n200%\nlast"));
}

TEST_F(OutputCollectorTest, WindowsLineEndsAreLineEnds) {
  run(0, {out("a\r\nb\r"), out("\n")});
  EXPECT_THAT(shown(0), ElementsAre("a\nb\n"));
}

TEST_F(OutputCollectorTest, BackspacesStepBackByWholeCharacters) {
  run(0, {out("caf\xc3"), out("\xa9\b\be\n\b"), out("x\b\b\by")});
  EXPECT_THAT(shown(0), ElementsAre("ca"
                                    "e\xc3\xa9\ny"));
}

TEST_F(OutputCollectorTest, ColoursGoWithTheCharactersTheyColour) {
  run(0, {out("\x1b[31mred\x1b[0m!\r\x1b[32mgreen\x1b[0"), out("m\n")});
  EXPECT_THAT(shown(0), ElementsAre("\x1b[32mgreen\x1b[0m\n"));
}

TEST_F(OutputCollectorTest, ClearForgetsAtOnceAndWaitForgetsWithTheNextOutput) {
  run(0, {out("a"), clear(false), out("b"), clear(true)});
  EXPECT_THAT(shown(0), ElementsAre("b"));
  run(0, {out("a"), clear(true), display("c")});
  EXPECT_THAT(shown(0), ElementsAre("\"c\""));
}

TEST_F(OutputCollectorTest, UpdatesReachEveryDisplayWithTheIdAlsoOfEarlierCells) {
  run(0, {display("a", "id"), display("b"), display("c", "id")});
  run(1, {display("new", "id", true), display("lost", "unknown", true)});
  EXPECT_THAT(shown(0), ElementsAre("\"new\"", "\"b\"", "\"new\""));
  EXPECT_THAT(shown(1), IsEmpty());
}

TEST_F(OutputCollectorTest, UpdatesOfClearedDisplaysAreLost) {
  run(0, {display("a", "id"), clear(false), out("b"), display("new", "id", true)});
  EXPECT_THAT(shown(0), ElementsAre("b"));
}

TEST_F(OutputCollectorTest, KeepsResultsErrorsAndCounts) {
  Event started;
  started.kind = Event::Kind::kStarted;
  started.execution_count = 4;
  Event result = display("1");
  result.kind = Event::Kind::kResult;
  result.execution_count = 4;
  Event error;
  error.kind = Event::Kind::kError;
  error.error = {.name = "E", .value = "v", .traceback = "one\ntwo"};
  run(0, {started, result, error, text_event(Event::Kind::kNote, "note")});
  const Cell& cell = notebook_.cells[0];
  EXPECT_EQ(cell.execution_count, 4);
  ASSERT_THAT(cell.outputs, SizeIs(2));
  EXPECT_EQ(cell.outputs[0].kind, Output::Kind::kResult);
  EXPECT_EQ(cell.outputs[0].execution_count, 4);
  EXPECT_EQ(cell.outputs[1].name, "E");
  EXPECT_THAT(cell.outputs[1].traceback, ElementsAre("one", "two"));
}

TEST_F(OutputCollectorTest, CutsAtTheLimitAndSaysHowMuch) {
  run(0, {out(std::string(1'000, 'a')), out(std::string(100, 'b')), display("late")});
  const std::vector<std::string> texts = shown(0);
  ASSERT_THAT(texts, SizeIs(2));
  EXPECT_EQ(texts[0], std::string(1'000, 'a') + std::string(24, 'b'));
  EXPECT_THAT(texts[1], HasSubstr("more not kept"));
}

TEST_F(OutputCollectorTest, BoundsTheNumberOfOutputs) {
  run(0, std::vector<Event>(9, display("x")));
  EXPECT_THAT(shown(0), SizeIs(6));
}

TEST_F(OutputCollectorTest, AnEndlessProgressBarIsNotCut) {
  std::vector<Event> events;
  for (int i = 0; i < 1'000; ++i) {
    events.push_back(out("\rstep " + std::to_string(i)));
  }
  run(0, events);
  EXPECT_THAT(shown(0), ElementsAre("step 999"));
}

TEST_F(OutputCollectorTest, RunningACellAgainReplacesItsOutputs) {
  run(0, {out("old")});
  run(0, {out("new")});
  EXPECT_THAT(shown(0), ElementsAre("new"));
}

TEST_F(OutputCollectorTest, AnErrorIsKeptBehindAnyFlood) {
  Event error;
  error.kind = Event::Kind::kError;
  error.error = {.name = "TimeoutError", .value = "why", .traceback = "where"};
  run(0, {out(std::string(5000, 'x')), out("more"), error});
  ASSERT_THAT(notebook_.cells[0].outputs, SizeIs(3));
  EXPECT_EQ(notebook_.cells[0].outputs[1].name, "TimeoutError");
  EXPECT_THAT(notebook_.cells[0].outputs[2].text, HasSubstr("output truncated"));
  run(1, std::vector<Event>(20, error));
  EXPECT_THAT(notebook_.cells[1].outputs, SizeIs(6));
}

class LargeValuesTest : public OutputCollectorTest {
 protected:
  static Event reference(std::uint64_t size, const std::string& mime = "image/png") {
    Event event;
    event.kind = Event::Kind::kDisplay;
    event.data[mime] = R"({"ref":"r1","size":)" + std::to_string(size) + "}";
    return event;
  }
  // Begins a cell that shows these, and fetches: each value is as long as it was said to be.
  void show(OutputCollector& collector, std::size_t cell, const std::vector<Event>& events) {
    collector.begin(cell);
    for (const Event& event : events) {
      collector.add(event);
    }
    collector.fetch_values([this](const Reference& reference) -> Result<std::string> {
      ++asked_;
      return std::string(reference.size, 'A');
    });
    losses_ = collector.losses();
    collector.finish();
  }

  int asked_ = 0;
  std::vector<std::string> losses_;
};

TEST_F(LargeValuesTest, FetchedValuesStandWhereTheyWereReferredTo) {
  show(collector_, 0, {out("before"), reference(4000), out("behind")});
  ASSERT_THAT(notebook_.cells[0].outputs, SizeIs(3));
  EXPECT_EQ(notebook_.cells[0].outputs[1].data,
            MimeBundle({{"image/png", '"' + std::string(4000, 'A') + '"'}}));
  EXPECT_THAT(losses_, IsEmpty());
}

TEST_F(LargeValuesTest, WhatWasClearedIsNotAskedFor) {
  show(collector_, 0, {reference(4000), clear(false), out("new")});
  EXPECT_EQ(asked_, 0);
  EXPECT_THAT(shown(0), ElementsAre("new"));
}

TEST_F(LargeValuesTest, AnUpdateFromALaterCellIsFetchedIntoTheOldOutput) {
  run(0, {display("small", "id")});
  Event update = reference(4000);
  update.display_id = "id";
  update.update = true;
  show(collector_, 1, {update});
  EXPECT_EQ(notebook_.cells[0].outputs[0].data.at("image/png").size(), 4002U);
}

TEST_F(LargeValuesTest, BeyondTheBoundOfACellTheyAreNamedAndNotAskedFor) {
  OutputCollector collector(notebook_, {.fetched = Bytes{5000}});
  show(collector, 0, {reference(4000), reference(4000), reference(5001)});
  EXPECT_EQ(asked_, 1);
  EXPECT_THAT(notebook_.cells[0].outputs[1].data.at("text/plain"),
              HasSubstr("too large to keep: image/png"));
  ASSERT_THAT(losses_, SizeIs(2));
  EXPECT_THAT(losses_[0], HasSubstr("a cell keeps"));
  show(collector, 1, {reference(4000)});
  EXPECT_EQ(asked_, 2);
}

TEST_F(LargeValuesTest, TheBoundOfANotebookHoldsOverItsCells) {
  OutputCollector collector(notebook_, {.notebook = Bytes{6000}});
  show(collector, 0, {reference(4000)});
  show(collector, 1, {reference(4000), out(std::string(3000, 'x'))});
  EXPECT_EQ(asked_, 1);
  ASSERT_THAT(losses_, SizeIs(2));
  EXPECT_THAT(losses_[0], HasSubstr("a notebook keeps"));
  std::size_t size = 0;
  for (const Output& output : notebook_.cells[1].outputs) {
    size += output.text.size();
  }
  EXPECT_LT(size, 2200U);
}

TEST_F(LargeValuesTest, NothingButValuesOfTheirTypeAreTaken) {
  for (const auto& [mime, given] : std::vector<std::pair<std::string, std::string>>{
           {"image/png", "\",\"text/html\":\"x"},
           {"application/json", "[1,"},
           {"application/json", std::string(300, '[') + std::string(300, ']')},
           {"text/html", "longer than it was said to be"}}) {
    collector_.begin(0);
    collector_.add(reference(mime == "text/html" ? 3 : given.size(), mime));
    collector_.fetch_values(
        [&](const Reference& /*asked*/) -> Result<std::string> { return given; });
    EXPECT_THAT(collector_.losses(), SizeIs(1)) << mime;
    collector_.finish();
    EXPECT_THAT(shown(0), ElementsAre(HasSubstr("too large to keep"))) << mime;
  }
}

TEST_F(LargeValuesTest, WithoutAskingTheyAreLeftOut) {
  run(0, {reference(4000)});
  EXPECT_THAT(shown(0), ElementsAre(HasSubstr("too large to keep: image/png of")));
  EXPECT_EQ(notebook_.cells[0].outputs[0].data.size(), 1U);
}

}  // namespace
}  // namespace glovebox::notebook
