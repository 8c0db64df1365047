#include "feed/sources/pitch_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"

namespace tickstack::feed {
namespace {

using testing::HasSubstr;

PitchOptions MissingFile() {
  PitchOptions options;
  options.path = "/nowhere/bzx.pcap";
  options.date = "2023.08.22";
  return options;
}

TEST(PitchOptions, SaysWhichOptionIsWrong) {
  const auto error_of = [](auto change) {
    PitchOptions options = MissingFile();
    change(options);
    return std::string(Message(options.Open().status()));
  };
  EXPECT_THAT(error_of([](PitchOptions&) {}), HasSubstr("/nowhere/bzx.pcap"));
  EXPECT_THAT(error_of([](PitchOptions& o) { o.market = "bonds"; }),
              HasSubstr("market 'bonds': expected equities, options, futures or complex"));
  EXPECT_THAT(error_of([](PitchOptions& o) { o.date = ""; }), HasSubstr("--date is missing"));
  EXPECT_THAT(error_of([](PitchOptions& o) { o.path = ""; }), HasSubstr("--path is missing"));
  EXPECT_THAT(error_of([](PitchOptions& o) { o.tables = {"quote"}; }),
              HasSubstr("tables: 'quote', expected instrument, status"));
}

// A feed that continues must not take rows of one market for those of another.
TEST(PitchOptions, RowsOfAnotherMarketHaveAnotherName) {
  PitchOptions futures = MissingFile();
  futures.market = "futures";
  EXPECT_NE(futures.RowsName(), MissingFile().RowsName());
  EXPECT_EQ(MissingFile().RowsName(), MissingFile().RowsName());
}

}  // namespace
}  // namespace tickstack::feed
