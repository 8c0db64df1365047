#include "table/drop_rows.h"

#include <gtest/gtest.h>

#include <string_view>

#include "base/byte_buffer.h"

namespace tickstack {
namespace {

using std::string_view_literals::operator""sv;

ColumnView Column(Type type, size_t rows, std::string_view bytes) {
  return {type, Attribute::kNone, rows, AsBytes(bytes)};
}

std::string_view Rest(const ColumnView& column, size_t rows) {
  const std::optional<ColumnView> rest = DropRows(column, rows);
  EXPECT_TRUE(rest.has_value());
  EXPECT_EQ(rest->rows, column.rows - rows);
  return AsText(rest->data);
}

TEST(DropRows, CutsTheFirstRowsOfEveryKindOfColumn) {
  EXPECT_EQ(Rest(Column(Type::kShort, 3, "aabbcc"), 1), "bbcc");
  EXPECT_EQ(Rest(Column(Type::kShort, 3, "aabbcc"), 3), "");
  EXPECT_EQ(Rest(Column(Type::kSymbol, 3, "A\0\0CC\0"sv), 2), "CC\0"sv);
  EXPECT_EQ(Rest(Column(Type::kList, 2, "\xf6x\x0a\0\x01\0\0\0y"sv), 1), "\x0a\0\x01\0\0\0y"sv);
  EXPECT_EQ(Rest(Column(Type::kList, 2, "\xf6x\xf6y"sv), 0), "\xf6x\xf6y");
}

TEST(DropRows, RefusesMoreThanThereIs) {
  EXPECT_FALSE(DropRows(Column(Type::kShort, 3, "aabbcc"), 4).has_value());
  EXPECT_FALSE(DropRows(Column(Type::kShort, 3, "aa"), 2).has_value());
  EXPECT_FALSE(DropRows(Column(Type::kSymbol, 3, "A\0B"sv), 2).has_value());
  EXPECT_FALSE(DropRows(Column(Type::kList, 2, "\x0a"), 1).has_value());
}

}  // namespace
}  // namespace tickstack
