#include "cli/planned_rows.h"

#include <gtest/gtest.h>

#include "base/status.h"

namespace tickstack::cli {
namespace {

absl::StatusOr<PlannedRows> Parsed(std::vector<std::string> texts) {
  return ParsePlannedRows(texts, DefaultSchemas());
}
std::string ErrorOf(const std::string& text) {
  return std::string(Message(Parsed({text}).status()));
}

TEST(PlannedRows, AreForAllTablesOrByTable) {
  EXPECT_EQ(Parsed({})->Of("quote"), 1'000'000u);
  const PlannedRows counts = *Parsed({"quote=650000000", "5", "quote=4294967294"});
  EXPECT_EQ(counts.Of("quote"), 4'294'967'294u);
  EXPECT_EQ(counts.Of("trade"), 5u);
}

TEST(PlannedRows, AnErrorSaysWhatWasExpected) {
  for (const char* text : {"0", "-1", "many", "", "quote=", "4294967295", "1e6", "quote=1=2"}) {
    EXPECT_EQ(ErrorOf(text), std::string("--rows: expected a number from 1 to 4294967294, or "
                                         "TABLE=NUMBER, found \"") +
                                 text + "\"");
  }
  EXPECT_EQ(ErrorOf("quot=1"), "--rows: no table \"quot\": expected one of trade, quote");
}

}  // namespace
}  // namespace tickstack::cli
