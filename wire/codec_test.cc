#include "wire/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "table/bytes_for_test.h"
#include "tests/support/fixtures.h"

namespace tickstack::wire {
namespace {

using testing::HasSubstr;

ByteBuffer Encoded(const Value& value) {
  ByteBuffer bytes;
  Encode(value, bytes);
  return bytes;
}

std::string DecodeError(std::span<const std::byte> body) {
  const absl::StatusOr<Value> value = Decode(body);
  if (value.ok()) return "";
  EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(Message(value.status()));
}
std::string DecodeError(std::string_view hex) { return DecodeError(FromHex(hex)); }

// Returns the size, or "early" or "bad".
std::string SizeOf(std::span<const std::byte> bytes) {
  const absl::StatusOr<std::optional<size_t>> size = ValueBytes(bytes);
  if (!size.ok()) return "bad";
  return *size ? std::to_string(**size) : "early";
}

Value IntAtom(int32_t value) { return Value::Int(value); }
Value Ints(std::vector<int32_t> values) {
  return Value::Vector(Type::kInt, std::span<const int32_t>(values));
}

struct Golden {
  const char* q;
  MessageKind kind;
  Value value;
  const char* hex;
};

// Returns what kdb+ writes, from its documentation and from captured answers.
std::vector<Golden> Goldens() {
  const auto async = MessageKind::kAsync;
  const auto response = MessageKind::kResponse;
  std::vector<Golden> goldens;
  goldens.push_back({"1i", async, IntAtom(1), "010000000d000000fa01000000"});
  goldens.push_back({"enlist 1i", async, Ints({1}), "010000001200000006000100000001000000"});
  goldens.push_back({"`a`b!2 3i", async, Value::Dict(Value::Symbols({"a", "b"}), Ints({2, 3})),
                     "0100000021000000630b0002000000610062000600020000000200000003000000"});
  goldens.push_back(
      {"([]a:enlist 2i;b:enlist 3i)", async, Value::Table({"a", "b"}, {Ints({2}), Ints({3})}),
       "010000002f0000006200630b000200000061006200000002000000060001000000020000000600"
       "0100000003000000"});
  goldens.push_back(
      {"([a:enlist 2i]b:enlist 3i)", async,
       Value::KeyedTable(Value::Table({"a"}, {Ints({2})}), Value::Table({"b"}, {Ints({3})})),
       "010000003f000000636200630b00010000006100000001000000060001000000020000006200630"
       "b0001000000620000000100000006000100000003000000"});
  goldens.push_back(
      {"{x+y}", async, Value::Lambda("{x+y}"), "010000001500000064000a00050000007b782b797d"});
  goldens.push_back({"'type", response, Value::Error("type"), "010200000e000000807479706500"});
  goldens.push_back({"::", response, Value(), "010200000a0000006500"});
  goldens.push_back(
      {"([sym:`a`b]n:1 2)", response,
       Value::KeyedTable(Value::Table({"sym"}, {Value::Symbols({"a", "b"})}),
                         Value::Table({"n"}, {Value::Longs({1, 2})})),
       "010200004d000000636200630b000100000073796d000000010000000b00020000006100620062"
       "00630b00010000006e0000000100000007000200000001000000000000000200000000000000"});
  return goldens;
}

TEST(Codec, WritesAndReadsTheGoldenBytes) {
  for (const Golden& golden : Goldens()) {
    SCOPED_TRACE(golden.q);
    EXPECT_EQ(ToHex(EncodeMessage(golden.kind, golden.value)), golden.hex);
    const ByteBuffer message = FromHex(golden.hex);
    const absl::StatusOr<Value> value = Decode(message.span().subspan(kHeaderBytes));
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_TRUE(*value == golden.value);
  }
}

TEST(Codec, WritesAtomsOfEveryWidth) {
  EXPECT_EQ(ToHex(Encoded(Value::Boolean(true))), "ff01");
  EXPECT_EQ(ToHex(Encoded(Value::Short(-2))), "fbfeff");
  EXPECT_EQ(ToHex(Encoded(Value::Long(1))), "f90100000000000000");
  EXPECT_EQ(ToHex(Encoded(Value::Char('a'))), "f661");
  EXPECT_EQ(ToHex(Encoded(Value::Symbol("ab"))), "f5616200");
  EXPECT_EQ(ToHex(Encoded(Value::Symbol(""))), "f500");
  EXPECT_EQ(ToHex(Encoded(Value::Float(1.0))), "f7000000000000f03f");
}

// Goal: a value that no message can carry is refused before it is encoded. Method: 2 GiB of bytes
// that are never written or read, so that they take no memory.
TEST(Codec, RefusesVectorsThatTheCountCannotHold) {
  ByteBuffer bytes;
  bytes.resize(kCountMax + 1);
  const Value vector = Value::Vector(Type::kByte, std::move(bytes));
  const absl::StatusOr<size_t> size = EncodedBytes(Value::List({Value::Long(1), Value()}));
  ASSERT_TRUE(size.ok());
  EXPECT_EQ(*size, 6u + 9u + 2u);
  EXPECT_EQ(EncodedBytes(vector).status().code(), absl::StatusCode::kInvalidArgument);
}

// Goal: decoding keeps everything that the wire carries. Method: random values from an encoder that
// is independent of the codec; every size and re-encoding must agree with its bytes.
TEST(Codec, GivesBackTheBytesOfRandomValues) {
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(seed);
    RandomEncoder random(seed);
    random.Value();
    const std::span<const std::byte> bytes = random.little();
    const absl::StatusOr<Value> value = Decode(bytes);
    ASSERT_TRUE(value.ok()) << value.status();
    ASSERT_EQ(ToHex(Encoded(*value)), ToHex(bytes));
    ASSERT_EQ(SizeOf(bytes), std::to_string(bytes.size()));
    const absl::StatusOr<size_t> encoded_bytes = EncodedBytes(*value);
    ASSERT_TRUE(encoded_bytes.ok());
    ASSERT_EQ(*encoded_bytes, bytes.size());
  }
}

TEST(Codec, TurnsBigEndianBodiesRound) {
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(seed);
    RandomEncoder random(seed);
    random.Value();
    ByteBuffer body(random.big());
    const absl::Status status = ToLittleEndian(body.span());
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(ToHex(body), ToHex(random.little()));
  }
}

TEST(Codec, RefusesBigEndianBodiesThatAreNotOneValue) {
  const ByteBuffer cut = FromHex("06 00 00000002 00000001");
  const ByteBuffer long_by_one = FromHex("fa 00000001 00");
  const ByteBuffer negative = FromHex("06 00 ffffffff");
  ByteBuffer body = cut.Clone();
  EXPECT_THAT(ToLittleEndian(body.span()).ToString(), HasSubstr("goes on past the end, byte 10"));
  body = long_by_one.Clone();
  EXPECT_THAT(ToLittleEndian(body.span()).ToString(), HasSubstr("byte 5: the value ends here"));
  body = negative.Clone();
  EXPECT_THAT(ToLittleEndian(body.span()).ToString(), HasSubstr("byte 2: count -1"));
  EXPECT_FALSE(ToLittleEndian({}).ok());
}

// Goal: a torn value is distinguished from a damaged one. Method: cut random values at every byte.
TEST(Codec, SaysThatACutValueEndsEarlyWhereverItIsCut) {
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    SCOPED_TRACE(seed);
    RandomEncoder random(seed);
    random.Value();
    for (size_t bytes = 0; bytes < random.little().size(); ++bytes) {
      // In a block of its own, so that reads beyond it are detected.
      const ByteBuffer cut(random.little().first(bytes));
      ASSERT_EQ(SizeOf(cut), "early") << bytes;
      ASSERT_THAT(DecodeError(cut), HasSubstr("goes on past the end"));
      ByteBuffer big(random.big().first(bytes));
      ASSERT_FALSE(ToLittleEndian(big.span()).ok());
    }
  }
}

// Goal: all functions give the same verdict on damaged bytes. Method: change random bytes in random
// values.
TEST(Codec, AgreesWithItselfAboutDamagedValues) {
  for (uint64_t seed = 0; seed < 50'000; ++seed) {
    SCOPED_TRACE(seed);
    RandomEncoder random(seed);
    random.Value();
    std::mt19937_64 rng(seed);
    ByteBuffer bytes(random.little());
    for (uint64_t n = 1 + rng() % 3; n > 0; --n) {
      bytes.data()[rng() % bytes.size()] = static_cast<std::byte>(rng());
    }
    size_t used = 0;
    const absl::StatusOr<Value> value = DecodePrefix(bytes, &used);
    if (value.ok()) {
      ASSERT_EQ(SizeOf(bytes), std::to_string(used));
      ASSERT_EQ(ToHex(Encoded(*value)), ToHex(bytes.span().first(used)));
    } else {
      ASSERT_THAT(SizeOf(bytes), testing::AnyOf("early", "bad"));
    }
  }
}

TEST(Codec, DecodesOneValueAndNotMore) {
  const ByteBuffer bytes = FromHex("fa 01000000 | f5 6100");
  EXPECT_THAT(DecodeError(bytes), HasSubstr("byte 5: the value ends here, its message at byte 8"));
  size_t used = 0;
  const absl::StatusOr<Value> first = DecodePrefix(bytes, &used);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(used, 5u);
  EXPECT_TRUE(*first == Value::Int(1));
  EXPECT_THAT(DecodeError(""), HasSubstr("goes on past the end"));
}

TEST(Codec, NamesWhatIsNotAValue) {
  EXPECT_THAT(DecodeError("00 00 01000000 03 00"), HasSubstr("byte 6: type 3, which does not"));
  EXPECT_THAT(DecodeError("fd 00"), HasSubstr("byte 0: type -3, which does not exist"));
  EXPECT_THAT(DecodeError("71 00"), HasSubstr("type 113, which does not exist"));
  EXPECT_THAT(DecodeError("15 73796d00 00 01000000 00000000"), HasSubstr("type 21, an enumerated"));
  EXPECT_THAT(DecodeError("06 00 feffffff"), HasSubstr("byte 2: count -2, expected 0 or more"));
  EXPECT_THAT(DecodeError("06 05 00000000"), HasSubstr("byte 1: attribute 5, expected 0 to 4"));
  EXPECT_THAT(DecodeError("00 00 01000000 80 6100"), HasSubstr("byte 6: an error (type 0x80)"));
  EXPECT_THAT(DecodeError("64 00 06 00 00000000"), HasSubstr("expected 10 (a lambda's source)"));
}

TEST(Codec, RefusesUnevenDictionariesAndTables) {
  EXPECT_THAT(DecodeError("63 0b0002000000 6100 6200 06000100000001000000"),
              HasSubstr("byte 0: a dictionary of 2 keys and 1 values"));
  EXPECT_THAT(DecodeError("63 f56100 fa01000000"),
              HasSubstr("a dictionary of types -11 and -6, expected"));
  EXPECT_THAT(DecodeError("62 00 63 06 00 00000000 00 00 00000000"),
              HasSubstr("byte 3: type 6, expected 11 (a table's column names)"));
  EXPECT_THAT(DecodeError("62 00 7f 0b 00 00000000 00 00 00000000"),
              HasSubstr("byte 2: type 127, expected 99 (the dictionary of a table)"));
  EXPECT_THAT(DecodeError("62 00 63 0b 00 01000000 6100 06 00 00000000"),
              HasSubstr("type 6, expected 0 (a table's columns)"));
  EXPECT_THAT(DecodeError("62 00 63 0b 00 01000000 6100 00 00 00000000"),
              HasSubstr("a table of 1 names and 0 columns"));
  EXPECT_THAT(DecodeError("62 00 63 0b 00 01000000 6100 00 00 01000000 fa 01000000"),
              HasSubstr("column 0 of a table is of type -6, expected a vector or list"));
  EXPECT_THAT(DecodeError("62 00 63 0b 00 02000000 6100 6200 00 00 02000000"
                          "04 00 01000000 07  04 00 02000000 0708"),
              HasSubstr("column 1 of a table has 2 rows, the first has 1"));
}

ByteBuffer Nested(int depth) {
  ByteBuffer bytes;
  for (int i = 0; i < depth; ++i) bytes.Append(FromHex("00 00 01000000"));
  bytes.Append(FromHex("ff 01"));
  return bytes;
}

TEST(Codec, BoundsTheDepth) {
  EXPECT_EQ(DecodeError(Nested(kDepthMax)), "");
  EXPECT_THAT(DecodeError(Nested(kDepthMax + 1)), HasSubstr("byte 384: nested deeper than 64"));
  EXPECT_EQ(SizeOf(Nested(1'000'000)), "bad");
  ByteBuffer derived;
  for (int i = 0; i < 1'000'000; ++i) derived.AppendLittle(uint8_t{106});
  EXPECT_EQ(SizeOf(derived), "bad");
}

TEST(Codec, TakesNoMemoryForWhatIsOnlyDeclared) {
  EXPECT_EQ(SizeOf(FromHex("07 00 ffffff7f 00")), "early");
  EXPECT_EQ(SizeOf(FromHex("02 00 ffffff7f 00")), "early");
  EXPECT_EQ(SizeOf(FromHex("0b 00 ffffff7f 00")), "early");
  EXPECT_EQ(SizeOf(FromHex("00 00 ffffff7f ff00 ff00")), "early");
  EXPECT_EQ(SizeOf(FromHex("68 ffffff7f ff00 ff00")), "early");
  EXPECT_FALSE(Decode(FromHex("00 00 ffffff7f ff00 ff00")).ok());
}

// Goal: bytes that kdb+ itself wrote come back unchanged. Method: every message of every log, and
// every flat value, among the real files.
TEST(Codec, GivesBackTheBytesOfRealLogsAndFiles) {
  TS_REQUIRE_FIXTURE(folder, "kdb");
  size_t logs = 0, messages = 0, values = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const ByteBuffer file = ReadWholeFile(entry.path());
    if (file.size() < 8 || ToHex(file.span().first(2)) != "ff01") continue;
    // The count of a saved symbol vector is advisory, so the file is not a value as in messages.
    const std::byte type = file.data()[2];
    if (type == std::byte{11}) continue;
    SCOPED_TRACE(entry.path());

    const bool is_log = type == std::byte{0};
    std::span<const std::byte> rest = file.span().subspan(is_log ? 8 : 2);
    logs += is_log;
    while (!rest.empty()) {
      size_t used = 0;
      const absl::StatusOr<Value> value = DecodePrefix(rest, &used);
      ASSERT_TRUE(value.ok()) << value.status();
      ASSERT_TRUE(SameBytes(Encoded(*value), rest.first(used)));
      rest = rest.subspan(used);
      (is_log ? messages : values) += 1;
    }
  }
  EXPECT_GE(logs, 56u);
  EXPECT_GE(messages, 11'814u);  // As an independent reader counts them.
  EXPECT_GE(values, 18u);
}

}  // namespace
}  // namespace tickstack::wire
