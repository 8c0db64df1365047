#include "interchange/parquet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "base/status.h"

// tests/e2e/parquet_test.py checks what readers make of such files.

namespace tickstack::interchange {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

Value TableOf(Value column) {
  std::vector<Value> columns;
  columns.push_back(std::move(column));
  return Value::Table({"a"}, std::move(columns));
}

TEST(ParquetTest, AFileBeginsAndEndsAsTheFormatSays) {
  for (const size_t rows : {size_t{0}, size_t{1}, size_t{131'072}, size_t{131'073}}) {
    const auto file = FormatParquet(TableOf(Value::String(std::string(rows, 'x'))));
    ASSERT_TRUE(file.ok());
    EXPECT_THAT(*file, StartsWith("PAR1"));
    EXPECT_THAT(*file, EndsWith("PAR1"));
    uint32_t footer = 0;
    std::memcpy(&footer, file->data() + file->size() - 8, sizeof footer);
    EXPECT_LT(footer + 12, file->size() + 1);
    EXPECT_THAT(file->substr(file->size() - 8 - footer, footer), HasSubstr("tickstack"));
  }
}

TEST(ParquetTest, WhatItCannotHoldIsNamed) {
  const auto message = [](const Value& value) {
    const auto file = FormatParquet(value);
    return file.ok() ? "" : std::string(Message(file.status()));
  };
  EXPECT_THAT(message(Value::Long(1)), HasSubstr("expected a table"));
  EXPECT_THAT(message(TableOf(Value::List({Value::String("x"), Value::Longs({1, 2})}))),
              HasSubstr("column a has lists, row 1"));
  // As a server might send it.
  const auto sent = [](Value first, Value second) {
    return Value::Pair(Type::kTable, Attribute::kNone, Value::Symbols({"a", "b"}),
                       Value::List({std::move(first), std::move(second)}));
  };
  EXPECT_THAT(message(sent(Value::Longs({1, 2}), Value::Longs({1}))),
              HasSubstr("column b is not 2 items long"));
  EXPECT_THAT(message(sent(Value::Long(1), Value::Longs({1}))), HasSubstr("column a is not"));
}

}  // namespace
}  // namespace tickstack::interchange
