#include "wire/message_stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "table/bytes_for_test.h"
#include "wire/codec.h"

namespace tickstack::wire {
namespace {

MessageStream StreamOf(Value value) {
  const absl::StatusOr<size_t> body_bytes = EncodedBytes(value);
  EXPECT_TRUE(body_bytes.ok());
  return {MessageKind::kResponse, std::make_shared<const Value>(std::move(value)), *body_bytes};
}

// Concatenates all pieces; each has 1 to `piece_bytes` bytes.
ByteBuffer Drained(MessageStream& stream, size_t piece_bytes) {
  ByteBuffer all;
  while (true) {
    const MessageStream::Piece piece = stream.Next(piece_bytes);
    EXPECT_LE(piece.bytes(), piece_bytes);
    if (piece.bytes() == 0) break;
    all.Append(piece.gathered);
    all.Append(piece.raw);
  }
  EXPECT_EQ(stream.Next(piece_bytes).bytes(), 0u);
  EXPECT_EQ(all.size(), stream.total_bytes());
  return all;
}

// Goal: a stream equals the message, wherever it is cut. Method: random values of every shape, in
// pieces of every size up to the whole.
TEST(MessageStream, IsTheEncodedMessageInPiecesOfAnySize) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    RandomEncoder random(seed);
    random.Value();
    const absl::StatusOr<Value> value = Decode(random.little());
    ASSERT_TRUE(value.ok()) << value.status();
    const ByteBuffer expected = EncodeMessage(MessageKind::kResponse, *value);
    for (size_t bytes = 1; bytes <= expected.size(); bytes += 1 + bytes / 16) {
      MessageStream stream = StreamOf(*value);
      ASSERT_TRUE(SameBytes(Drained(stream, bytes), expected)) << bytes;
    }
  }
}

ByteBuffer RandomBytes(std::mt19937_64& rng, size_t bytes) {
  ByteBuffer buffer;
  for (size_t i = 0; i < bytes; ++i) buffer.AppendLittle(static_cast<uint8_t>(rng()));
  return buffer;
}

// Vectors on both sides of the size from which they are not copied, names and texts of the same
// lengths, and lists whose items together exceed what the stream gathers in one go.
Value LargeAndSmall(std::mt19937_64& rng, int depth) {
  const size_t sizes[] = {0, 8, 4088, 4096, 4104, 40'000, 100'000};
  const size_t bytes = sizes[rng() % std::size(sizes)];
  switch (rng() % (depth > 0 ? 8 : 5)) {
    case 0:
      return Value::Symbol(std::string(bytes, 'n'));
    case 1:
      return Value::Vector(Type::kLong, RandomBytes(rng, bytes), Attribute::kSorted);
    case 2:
      return Value::Symbols({std::string(bytes, 'a'), "", std::string(bytes / 3, 'b')});
    case 3:
      return Value::Float(1.5);
    case 4:
      return Value::Lambda(std::string(bytes, 'x'));
    case 5: {
      std::vector<Value> atoms;
      for (size_t i = 0; i < bytes / 8; ++i) atoms.push_back(Value::Long(static_cast<int64_t>(i)));
      return Value::List(std::move(atoms));
    }
    case 6:
      return Value::Pair(Type::kDict, Attribute::kNone, LargeAndSmall(rng, depth - 1),
                         LargeAndSmall(rng, depth - 1));
    default: {
      const Value column = LargeAndSmall(rng, 0);
      if (!column.is_vector()) return Value::List({column, column});
      return Value::Table({"a", "b", "c"}, {column, column, column});
    }
  }
}

TEST(MessageStream, IsTheEncodedMessageWhereVectorsAreLarge) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const Value value = LargeAndSmall(rng, 2);
    const ByteBuffer expected = EncodeMessage(MessageKind::kResponse, value);
    for (const size_t bytes : {size_t{1000}, size_t{4096}, size_t{65'536}, size_t{1} << 20}) {
      MessageStream stream = StreamOf(value);
      ASSERT_TRUE(SameBytes(Drained(stream, bytes), expected)) << bytes;
    }
  }
}

TEST(MessageStream, EndsWithTheNulOfAnErrorHoweverLongItsTextIs) {
  for (const size_t bytes : {0u, 1u, 4095u, 4096u, 10'000u}) {
    const Value error = Value::Error(std::string(bytes, 'e'));
    MessageStream stream = StreamOf(error);
    EXPECT_TRUE(SameBytes(Drained(stream, 3000), EncodeMessage(MessageKind::kResponse, error)));
  }
}

// Goal: a stream holds little besides its value. Method: measure what it gathers for a list of a
// million atoms, and for a table of long columns.
TEST(MessageStream, GathersABoundedNumberOfBytes) {
  std::vector<Value> atoms(1'000'000, Value::Long(1));
  std::vector<Value> columns;
  for (int i = 0; i < 3; ++i) {
    ByteBuffer elements;
    elements.resize(8'000'000);
    std::memset(elements.data(), i, elements.size());
    columns.push_back(Value::Vector(Type::kLong, std::move(elements)));
  }
  for (Value value :
       {Value::List(std::move(atoms)), Value::Table({"a", "b", "c"}, std::move(columns))}) {
    MessageStream stream = StreamOf(std::move(value));
    size_t gathered = 0, pieces = 0;
    for (MessageStream::Piece piece = stream.Next(size_t{1} << 20); piece.bytes() > 0;
         piece = stream.Next(size_t{1} << 20)) {
      gathered = std::max(gathered, piece.gathered.size());
      ++pieces;
    }
    EXPECT_LE(gathered, size_t{40} << 10);
    EXPECT_GE(pieces, stream.total_bytes() >> 20);
  }
}

}  // namespace
}  // namespace tickstack::wire
