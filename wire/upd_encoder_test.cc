#include "wire/upd_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "table/bytes_for_test.h"
#include "wire/codec.h"
#include "wire/protocol.h"

namespace tickstack::wire {
namespace {

// The rows of every test: (`A`B; 1 2).
struct TwoRows {
  ByteBuffer names = FromHex("4100 4200");
  ByteBuffer numbers = FromHex("0100000000000000 0200000000000000");
  std::vector<ColumnView> columns = {{Type::kSymbol, Attribute::kNone, 2, names.span()},
                                     {Type::kLong, Attribute::kNone, 2, numbers.span()}};
  BatchView batch = {columns, 2};
  Value names_value = Value::Symbols({"A", "B"});
  Value numbers_value = Value::Longs({1, 2});
};

Value CallOf(std::vector<Value> items) { return Value::List(std::move(items)); }

TEST(UpdEncoder, WritesTheRecordOfALog) {
  const TwoRows rows;
  ByteBuffer out;
  UpdEncoder upd(out);
  upd.Head(protocol::kUpd, "t");
  upd.Batch(rows.batch);
  ByteBuffer expected;
  Encode(CallOf({Value::Symbol("upd"), Value::Symbol("t"),
                 Value::List({rows.names_value, rows.numbers_value})}),
         expected);
  EXPECT_EQ(ToHex(out), ToHex(expected));
}

TEST(UpdEncoder, WritesWhatAFeedSends) {
  const TwoRows rows;
  ByteBuffer out = FromHex("aabb");  // A message before it.
  UpdEncoder upd(out);
  upd.BeginFrame();
  upd.NumberedHead("F", 7, "t");
  upd.Batch(rows.batch);
  upd.EndFrame(MessageKind::kAsync);
  const ByteBuffer expected = EncodeMessage(
      MessageKind::kAsync,
      CallOf({Value::Symbol(".u.updn"), Value::Symbol("F"), Value::Long(7), Value::Symbol("t"),
              Value::List({rows.names_value, rows.numbers_value})}));
  EXPECT_EQ(ToHex(out), "aabb" + ToHex(expected));
}

// Goal: a message whose columns are sent from elsewhere has the same bytes as one in one piece.
TEST(UpdEncoder, WritesWhatASubscriberGets) {
  const TwoRows rows;
  Schema schema;
  schema.table = "t";
  schema.columns = {{"sym", Type::kSymbol}, {"n", Type::kLong}};
  ByteBuffer out;
  UpdEncoder upd(out);
  upd.BeginFrame();
  upd.Head(protocol::kUpd, "t", true);
  upd.Table(schema);
  upd.Column(Type::kSymbol, 2);
  const size_t cut = out.size();
  upd.Column(Type::kLong, 2);
  const size_t end = out.size();
  upd.Seq(-5);
  upd.EndFrame(MessageKind::kAsync, rows.names.size() + rows.numbers.size());
  const std::string bytes = ToHex(out.span().first(cut)) + ToHex(rows.names) +
                            ToHex(out.span().subspan(cut, end - cut)) + ToHex(rows.numbers) +
                            ToHex(out.span().subspan(end));
  const Value table = Value::Table({"sym", "n"}, {rows.names_value, rows.numbers_value});
  EXPECT_EQ(bytes, ToHex(EncodeMessage(MessageKind::kAsync,
                                       CallOf({Value::Symbol("upd"), Value::Symbol("t"), table,
                                               Value::Long(-5)}))));
  EXPECT_EQ(out.size() - end, kSeqBytes);
}

TEST(UpdEncoder, ASingleRowIsAnAtom) {
  std::vector<std::byte> bytes(2 * kVectorHeadBytes);
  EXPECT_EQ(PutColumnHead(bytes.data(), Type::kLong, 1) - bytes.data(), 1);
  EXPECT_EQ(bytes[0], std::byte{0xf9});
  EXPECT_EQ(PutColumnHead(bytes.data(), Type::kLong, 3) - bytes.data(), 6);
  EXPECT_EQ(ToHex(std::span(bytes).first(6)), "070003000000");
}

}  // namespace
}  // namespace tickstack::wire
