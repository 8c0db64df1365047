#include "table/storable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "table/bytes_for_test.h"
#include "table/codec.h"
#include "table/value.h"

namespace tickstack {
namespace {

using testing::HasSubstr;

ByteBuffer Encoded(const Value& value) {
  ByteBuffer bytes;
  Encode(value, bytes);
  return bytes;
}

// A lambda of the root namespace.
Value Lambda(const std::string& source) {
  ByteBuffer bytes = FromHex("64 00");
  bytes.Append(Encoded(Value::String(source)).span());
  return *Decode(bytes.span());
}

std::string WhatOf(const Value& value) {
  const std::optional<Unstorable> found = FindUnstorable(Encoded(value).span());
  if (!found) return "";
  return found->is_whole ? "whole: " + found->what : found->what;
}

Value Nested(int depth) {
  Value value = Value::Long(1);
  for (int i = 1; i < depth; ++i) value = Value::List({std::move(value)});
  return value;
}

TEST(Storable, AllButFunctions) {
  for (const Value& value :
       {Value::Long(1), Value::Symbol(""), Value::String("text"), Value::Longs({1, 2}),
        Value::List({}), Value::List({Value::Long(1), Value::String("a")}),
        Value::Dict(Value::Symbols({"a"}), Value::List({Value::Longs({1, 2})})),
        Value::Table({"a"}, {Value::Longs({1, 2})}),
        Value::Dict(Value::Table({"a"}, {Value::Longs({1})}),
                    Value::Table({"b"}, {Value::Longs({2})}))}) {
    EXPECT_EQ(WhatOf(value), "");
  }
  EXPECT_EQ(WhatOf(*Decode(FromHex("7f 0b0001000000 6100 070001000000 0100000000000000").span())),
            "")
      << "a sorted dictionary";
  EXPECT_EQ(WhatOf(Value()), "::");
  EXPECT_EQ(WhatOf(Lambda("{x+y}")), "{x+y}, a function");
  for (const auto& [hex, text] : std::vector<std::pair<std::string, std::string>>{
           {"65 0b", "string, a function"},
           {"66 01", "+, a function"},
           {"67 00", "', a function"},
           {"68 03000000 66 01 fa 01000000 65 ff", "+[..;], a function"},
           {"69 02000000 65 0b 65 01", "'[string;flip], a function"},
           {"6b 66 01", "+/, a function"},
           {"70 66 01", "a function of type 112, a function"}}) {
    const ByteBuffer bytes = FromHex(hex);
    ASSERT_TRUE(ValueBytes(bytes.span()).ok()) << hex;
    const std::optional<Unstorable> found = FindUnstorable(bytes.span());
    ASSERT_TRUE(found.has_value()) << hex;
    EXPECT_EQ(found->what, text);
    EXPECT_FALSE(found->is_whole);
  }
}

TEST(Storable, FindsTheFirstFunctionWhereverItIs) {
  const Value lambda = Lambda("{x}");
  EXPECT_EQ(WhatOf(Value::List({Value::Long(1), lambda, Value()})), "{x}, a function");
  EXPECT_EQ(WhatOf(Value::Dict(Value::Symbols({"", "a"}), Value::List({Value(), Value::Long(1)}))),
            "::");
  EXPECT_EQ(WhatOf(Value::Table({"a"}, {Value::List({Value::Long(1), lambda})})),
            "{x}, a function");
  EXPECT_EQ(WhatOf(Value::List({Value::List({Value::List({lambda})})})), "{x}, a function");
}

TEST(Storable, NotWhatReadersRefuse) {
  EXPECT_EQ(WhatOf(Nested(kDepthMax)), "");
  EXPECT_EQ(WhatOf(Nested(kDepthMax + 1)), "whole: lists nested deeper than 64");
  // Each atom of a list takes far more memory than bytes.
  const size_t items = kStorableBytesMax / sizeof(Value);
  ByteBuffer list = FromHex("00 00");
  list.AppendLittle(static_cast<int32_t>(items));
  for (size_t i = 0; i < items; ++i) list.AppendLittle(uint16_t{0x01ff});
  const std::optional<Unstorable> found = FindUnstorable(list.span());
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->is_whole);
  EXPECT_THAT(found->what, HasSubstr("takes more than 256 MiB when it is read"));
}

// Goal: it agrees with a search for a function in the value's tree.
TEST(Storable, AgreesWithTheTree) {
  struct Tree {
    static bool HasFunction(const Value& value) {
      if (value.is_function() || value.is_null()) return true;
      if (value.is_table() || value.is_dict()) {
        return HasFunction(value.keys()) || HasFunction(value.values());
      }
      if (!value.is_list()) return false;
      return std::ranges::any_of(value.items(), HasFunction);
    }
  };
  size_t refused = 0;
  for (uint64_t seed = 0; seed < 3'000; ++seed) {
    SCOPED_TRACE(seed);
    RandomEncoder random(seed);
    random.Value();
    const absl::StatusOr<Value> value = Decode(random.little());
    if (!value.ok()) continue;
    const std::optional<Unstorable> found = FindUnstorable(random.little());
    ASSERT_EQ(found.has_value(), Tree::HasFunction(*value));
    refused += found.has_value();
  }
  EXPECT_GT(refused, 100u);
}

TEST(Storable, OnlyTablesAndColumnsWhoseNamesFilesCanHave) {
  EXPECT_TRUE(ParseSchema(std::string(200, 't'), "time p").ok());
  EXPECT_FALSE(ParseSchema(std::string(201, 't'), "time p").ok());
  EXPECT_TRUE(ParseSchema("t", std::string(200, 'c') + " p").ok());
  EXPECT_FALSE(ParseSchema("t", std::string(201, 'c') + " p").ok());
}

TEST(Storable, ABatchIsRefusedByTableColumnAndRow) {
  const Schema schema = *ParseSchema("t", "n j, note *, more *");
  const ByteBuffer numbers = FromHex("0100000000000000 0200000000000000");
  ByteBuffer notes, more;
  for (const Value& value : {Value::String("a"), Value::Long(1)})
    notes.Append(Encoded(value).span());
  for (const Value& value : {Value::String("b"), Value::List({Lambda(std::string(200, 'x'))})}) {
    more.Append(Encoded(value).span());
  }
  const std::vector<ColumnView> columns = {{Type::kLong, Attribute::kNone, 2, numbers.span()},
                                           {Type::kList, Attribute::kNone, 2, notes.span()},
                                           {Type::kList, Attribute::kNone, 2, more.span()}};
  const absl::Status refused = CheckStorable(schema, {columns, 2});
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(std::string(Message(refused)),
              testing::AllOf(HasSubstr("type: t.more: row 1 has xxx"), HasSubstr("...: expected")));
  EXPECT_TRUE(
      CheckStorable(*ParseSchema("t", "n j, note *"), {std::span(columns).first(2), 2}).ok());
}

}  // namespace
}  // namespace tickstack
