#include "cli/table_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickstack::cli {
namespace {

TEST(MeasureTableBytes, AnswersWhatATableOfTheseRowsTakes) {
  const Schema schema = *ParseSchema("t", "time p, sym s, size i, flag b, text *");
  const TableBytes bytes = *MeasureTableBytes(schema, 300'000);
  const size_t widths[] = {8, 4, 4, 1, 16 + 6};  // A text: its position, and an empty string.
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    // At most the chunk that was begun and, for texts, the arena's last block are not rows.
    EXPECT_GE(bytes.columns[i], widths[i] * 300'000) << i;
    EXPECT_LE(bytes.columns[i], widths[i] * 2 * 262'144 + (size_t{2} << 20)) << i;
  }
  EXPECT_GE(bytes.index, 300'000u * 12);
  EXPECT_LE(bytes.index, 300'000u * 12 * 2);  // Few rows of many symbols: first blocks.
}

TEST(MeasureTableBytes, AKeyedTableHasAKeyForEachRow) {
  for (const char* columns : {"sym s, minute p | high f", "minute p, sym s, venue s | high f",
                              "sym s | high f", "k j, venue s | high f"}) {
    SCOPED_TRACE(columns);
    const Schema schema = *ParseSchema("t", columns);
    const TableBytes bytes = *MeasureTableBytes(schema, 100'000);
    EXPECT_GE(bytes.columns.back(), 100'000u * 8);
    EXPECT_LT(bytes.columns.back(), 100'000u * 9);
    EXPECT_GE(bytes.index, 100'000u * 10);                // Keys: 15 on average.
    EXPECT_LT(bytes.index, 100'000u * 20 + 8000 * 1024);  // Plus first blocks of symbols.
  }
}

TEST(MeasureTableBytes, HasNoIndexWithoutSymbols) {
  EXPECT_EQ(MeasureTableBytes(*ParseSchema("t", "time p, price f"), 10)->index, 0u);
  EXPECT_EQ(MeasureTableBytes(*ParseSchema("t", "sym s"), 0)->columns[0], 0u);
}

}  // namespace
}  // namespace tickstack::cli
