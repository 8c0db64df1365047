#include "wire/answer.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>

#include "table/bytes_for_test.h"
#include "wire/codec.h"
#include "wire/compress.h"

namespace tickstack::wire {
namespace {

constexpr AnswerForm kPlain{kOurCapability, false};
constexpr AnswerForm kCompressed{kOurCapability, true};

std::shared_ptr<const Value> Shared(Value value) {
  return std::make_shared<const Value>(std::move(value));
}

Value Zeros(size_t bytes) {
  ByteBuffer elements;
  elements.resize(bytes);
  std::memset(elements.data(), 0, bytes);
  return Value::Vector(Type::kByte, std::move(elements));
}

Value Noise(size_t bytes) {
  std::mt19937_64 rng(7);
  ByteBuffer elements;
  for (size_t i = 0; i < bytes; i += 8) elements.AppendLittle(uint64_t{rng()});
  return Value::Vector(Type::kByte, std::move(elements));
}

ByteBuffer MessageOf(const Value& value) { return EncodeMessage(MessageKind::kResponse, value); }

TEST(Answer, IsEncodedWhereItIsSmallAndAStreamWhereItIsLarge) {
  const Answer small = MakeAnswer(Shared(Zeros(1000)), kPlain);
  EXPECT_EQ(small.stream, nullptr);
  EXPECT_TRUE(SameBytes(small.encoded, MessageOf(Zeros(1000))));
  const Answer large = MakeAnswer(Shared(Zeros(kStreamBytesMin)), kPlain);
  ASSERT_NE(large.stream, nullptr);
  EXPECT_EQ(large.bytes(), MessageOf(Zeros(kStreamBytesMin)).size());
}

TEST(Answer, IsCompressedAsBeforeWhereThePeerTakesItAndItHalves) {
  for (const size_t bytes : {size_t{5000}, size_t{100'000}, size_t{4} << 20}) {
    const Answer answer = MakeAnswer(Shared(Zeros(bytes)), kCompressed);
    ASSERT_EQ(answer.stream, nullptr);
    EXPECT_TRUE(SameBytes(answer.encoded, *Compress(MessageOf(Zeros(bytes)))));
    EXPECT_TRUE(SameBytes(EncodeAnswer(Zeros(bytes), kCompressed).encoded, answer.encoded));
  }
  // Too short for compression; and one that compression does not halve.
  EXPECT_TRUE(
      SameBytes(MakeAnswer(Shared(Zeros(1900)), kCompressed).encoded, MessageOf(Zeros(1900))));
  EXPECT_TRUE(
      SameBytes(MakeAnswer(Shared(Noise(8000)), kCompressed).encoded, MessageOf(Noise(8000))));
  EXPECT_NE(MakeAnswer(Shared(Noise(100'000)), kCompressed).stream, nullptr);
}

TEST(Answer, IsNotCompressedWhereThatWouldTakeTooMuchMemory) {
  const Answer answer = MakeAnswer(Shared(Zeros(kCompressBytesMax)), kCompressed);
  ASSERT_NE(answer.stream, nullptr);
  EXPECT_GT(answer.bytes(), kCompressBytesMax);
}

// Goal: a value that the peer cannot read becomes an error. Method: a list of more than 2 GiB of
// bytes that are never written.
TEST(Answer, BecomesAnErrorWhereThePeerCannotReadItsLength) {
  std::vector<Value> items;
  for (int i = 0; i < 33; ++i) {
    ByteBuffer untouched;
    untouched.resize(size_t{64} << 20);  // Never read, so it takes no memory.
    items.push_back(Value::Vector(Type::kByte, std::move(untouched)));
  }
  const std::shared_ptr<const Value> value = Shared(Value::List(std::move(items)));
  const Answer answer = MakeAnswer(value, {kCapabilityGuid, false});
  ASSERT_EQ(answer.stream, nullptr);
  const absl::StatusOr<Value> error = Decode(answer.encoded.span().subspan(kHeaderBytes));
  ASSERT_TRUE(error.ok() && error->is_error());
  EXPECT_EQ(error->text(),
            "limit: answer of 2214592724 bytes, a client of capability 3 takes 2147483647");
  EXPECT_NE(MakeAnswer(value, {kCapabilityLargeMessages, false}).stream, nullptr);
}

TEST(Answer, BecomesAnErrorWhereAVectorHasTooManyElements) {
  ByteBuffer untouched;
  untouched.resize(kCountMax + 1);
  const Answer answer =
      MakeAnswer(Shared(Value::Vector(Type::kByte, std::move(untouched))), kPlain);
  const absl::StatusOr<Value> error = Decode(answer.encoded.span().subspan(kHeaderBytes));
  ASSERT_TRUE(error.ok() && error->is_error());
  EXPECT_TRUE(error->text().starts_with("limit: a vector of more than 2147483647 elements"));
}

}  // namespace
}  // namespace tickstack::wire
