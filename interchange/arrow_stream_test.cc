#include "interchange/arrow_stream.h"

#include <flatbuffers/flatbuffers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

// tests/e2e/parquet_test.py checks what readers make of such streams.

namespace tickstack::interchange {
namespace {

using testing::HasSubstr;

Value TableOf(Value column) {
  std::vector<Value> columns;
  columns.push_back(std::move(column));
  return Value::Table({"a"}, std::move(columns));
}

// Returns the sizes of the bodies of a stream's messages.
std::vector<int64_t> BodiesOf(std::string_view stream) {
  constexpr flatbuffers::voffset_t kBodyLength = 10;  // Field 3 of Message.fbs.
  std::vector<int64_t> bodies;
  while (stream.size() > 8) {
    EXPECT_EQ(stream.substr(0, 4), "\xff\xff\xff\xff");
    uint32_t bytes = 0;
    std::memcpy(&bytes, stream.data() + 4, sizeof bytes);
    EXPECT_EQ(bytes % 8, 0u);
    const std::vector<char> aligned(stream.begin() + 8, stream.begin() + 8 + bytes);
    const auto* const message = flatbuffers::GetRoot<flatbuffers::Table>(aligned.data());
    bodies.push_back(message->GetField<int64_t>(kBodyLength, 0));
    EXPECT_EQ(bodies.back() % 8, 0);
    stream.remove_prefix(8 + bytes + static_cast<size_t>(bodies.back()));
  }
  EXPECT_EQ(stream, std::string_view("\xff\xff\xff\xff\0\0\0\0", 8));
  return bodies;
}

TEST(ArrowStreamTest, AStreamIsASchemaBatchesAndAnEnd) {
  for (const size_t rows : {size_t{0}, size_t{1}, size_t{65'536}, size_t{65'537}}) {
    const auto stream =
        FormatArrow(TableOf(Value::Vector<int64_t>(Type::kLong, std::vector<int64_t>(rows, 7))));
    ASSERT_TRUE(stream.ok());
    const std::vector<int64_t> bodies = BodiesOf(*stream);
    ASSERT_EQ(bodies.size(), 1 + (rows + 65'535) / 65'536) << rows;
    EXPECT_EQ(bodies[0], 0);
    const int64_t full = 65'536 / 8 + 65'536 * 8, one = 8 + 8;  // Bits are padded to 8 bytes.
    if (rows >= 65'536) {
      EXPECT_EQ(bodies[1], full);
    }
    if (rows % 65'536 == 1) {
      EXPECT_EQ(bodies.back(), one);
    }
  }
}

TEST(ArrowStreamTest, WhatItCannotHoldIsNamed) {
  const auto message = [](const Value& value) {
    const auto stream = FormatArrow(value);
    return stream.ok() ? "" : std::string(Message(stream.status()));
  };
  EXPECT_THAT(message(Value::Long(1)), HasSubstr("expected a table"));
  EXPECT_THAT(message(TableOf(Value::List({Value::String("x"), Value::Longs({1, 2})}))),
              HasSubstr("column a has lists, row 1"));
}

}  // namespace
}  // namespace tickstack::interchange
