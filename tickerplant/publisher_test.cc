#include "tickerplant/publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "wire/codec.h"
#include "wire/upd.h"

namespace tickstack::tickerplant {
namespace {

// Decodes messages, and keeps the segments as a slow connection would.
class DecodingOutlet : public Outlet {
 public:
  void Queue(std::span<const wire::Segment> message) override {
    kept.emplace_back(message.begin(), message.end());
  }
  void Flush() override { ++flushes; }

  std::vector<Value> Messages() const {
    std::vector<Value> messages;
    for (const std::vector<wire::Segment>& segments : kept) {
      ByteBuffer whole;
      for (const wire::Segment& segment : segments) whole.Append(segment.bytes);
      const absl::StatusOr<wire::Header> header =
          wire::ParseHeader(whole.span().first<wire::kHeaderBytes>());
      EXPECT_EQ(header->total_bytes, whole.size());
      messages.push_back(*wire::Decode(whole.span().subspan(wire::kHeaderBytes)));
    }
    return messages;
  }

  std::vector<std::vector<wire::Segment>> kept;
  int flushes = 0;
};

const std::vector<Schema>& Schemas() {
  static const std::vector<Schema> schemas = {*ParseSchema("t", "sym s, price f, text *"),
                                              *ParseSchema("u", "sym s, size j")};
  return schemas;
}

// Returns x of rows (sym; price; text) in column form.
ByteBuffer RowsOfT(const std::vector<std::string>& syms, double first_price,
                   size_t text_bytes = 3) {
  SymbolVector names;
  std::vector<double> prices;
  std::vector<Value> texts;
  for (const std::string& sym : syms) {
    names.push_back(sym);
    prices.push_back(first_price + static_cast<double>(prices.size()));
    texts.push_back(Value::String(std::string(text_bytes, 'a')));
  }
  ByteBuffer x;
  wire::Encode(Value::List({Value::Symbols(names),
                            Value::Vector(Type::kFloat, std::span<const double>(prices)),
                            Value::List(texts)}),
               x);
  return x;
}

void Add(Publisher& publisher, size_t table, ByteBuffer x, bool owned = true) {
  static wire::UpdDecoder decoder;
  auto kept = std::make_shared<ByteBuffer>(std::move(x));
  wire::RowsView rows;
  ASSERT_TRUE(decoder.DecodeX(*kept, &rows).ok());
  publisher.Add(table, rows.batch, owned ? std::shared_ptr<const void>(kept) : nullptr);
}

ByteBuffer RowsOfU(std::initializer_list<std::string_view> syms) {
  ByteBuffer x;
  std::vector<int64_t> sizes(syms.size(), 7);
  wire::Encode(Value::List({Value::Symbols(SymbolVector(syms)),
                            Value::Vector(Type::kLong, std::span<const int64_t>(sizes))}),
               x);
  return x;
}

TEST(EmptyTable, IsKeyedAsItsSchemaIs) {
  const Value plain = EmptyTable(*ParseSchema("t", "time p, sym s, text *"));
  EXPECT_EQ(plain, Value::Table({"time", "sym", "text"},
                                {Value::Vector(Type::kTimestamp, ByteBuffer()),
                                 Value::Symbols({}, Attribute::kGrouped), Value::List({})}));
  const Value keyed = EmptyTable(*ParseSchema("bars", "sym s, minute p | high f"));
  EXPECT_EQ(keyed,
            Value::KeyedTable(
                Value::Table({"sym", "minute"},
                             {Value::Symbols({}), Value::Vector(Type::kTimestamp, ByteBuffer())}),
                Value::Table({"high"}, {Value::Vector(Type::kFloat, ByteBuffer())})));
}

TEST(Publisher, JoinsTheRowsOfATableIntoOneMessage) {
  Publisher publisher(Schemas(), /*keep_order=*/false);
  DecodingOutlet reader;
  publisher.Subscribe(0, {&reader, {}, false});
  publisher.Subscribe(1, {&reader, {}, false});
  Add(publisher, 0, RowsOfT({"a", "b"}, 1));
  Add(publisher, 1, RowsOfU({"a"}));
  Add(publisher, 0, RowsOfT({"c"}, 9));
  publisher.Publish(3);
  const std::vector<Value> messages = reader.Messages();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].items()[0], Value::Symbol("upd"));
  EXPECT_EQ(messages[0].items()[1], Value::Symbol("t"));
  const Value& t = messages[0].items()[2];
  EXPECT_EQ(*t.FindColumn("sym"), Value::Symbols({"a", "b", "c"}));
  EXPECT_EQ(t.FindColumn("price")->span<double>()[2], 9);
  EXPECT_EQ(messages[1].items()[2].count(), 1u);
  EXPECT_EQ(reader.flushes, 1);
  EXPECT_EQ(publisher.pending_bytes(), 0u);
}

TEST(Publisher, CutsALargeBatchIntoMessages) {
  Publisher publisher(Schemas(), /*keep_order=*/false);
  DecodingOutlet reader;
  publisher.Subscribe(0, {&reader, {}, false});
  publisher.Subscribe(1, {&reader, {}, false});
  Add(publisher, 1, RowsOfU({"a"}));
  constexpr size_t kUpds = 3000;
  constexpr size_t kRows = 10;
  const std::vector<std::string> names(kRows, "a");
  for (size_t i = 0; i < kUpds; ++i) {
    Add(publisher, 0, RowsOfT(names, static_cast<double>(i * kRows)));
  }
  Add(publisher, 1, RowsOfU({"b"}));
  const size_t bytes = publisher.pending_bytes();
  publisher.Publish(1);
  const std::vector<Value> messages = reader.Messages();
  EXPECT_EQ(messages.size(), 1 + (bytes + Publisher::kMessageBytes - 1) / Publisher::kMessageBytes);
  EXPECT_EQ(messages[0].items()[2].count(), 2u) << "a small table leaves together";
  size_t rows = 0;
  for (size_t i = 1; i < messages.size(); ++i) {
    const Value& t = messages[i].items()[2];
    for (const double price : t.FindColumn("price")->span<double>()) {
      EXPECT_EQ(price, static_cast<double>(rows++));
    }
  }
  EXPECT_EQ(rows, kUpds * kRows);
}

TEST(Publisher, KeepsTheOrderOfTablesInZeroLatencyMode) {
  Publisher publisher(Schemas(), /*keep_order=*/true);
  DecodingOutlet reader;
  publisher.Subscribe(0, {&reader, {}, false});
  publisher.Subscribe(1, {&reader, {}, false});
  Add(publisher, 0, RowsOfT({"a"}, 1));
  Add(publisher, 0, RowsOfT({"b"}, 2));
  Add(publisher, 1, RowsOfU({"c"}));
  Add(publisher, 0, RowsOfT({"d"}, 3));
  publisher.Publish(4);
  std::vector<std::pair<std::string, size_t>> order;
  for (const Value& message : reader.Messages()) {
    order.emplace_back(message.items()[1].symbol(), message.items()[2].count());
  }
  EXPECT_THAT(order, testing::ElementsAre(testing::Pair("t", 2u), testing::Pair("u", 1u),
                                          testing::Pair("t", 1u)));
}

TEST(Publisher, NumbersUpdsForThoseWhoAsked) {
  Publisher publisher(Schemas(), false);
  DecodingOutlet plain, numbered;
  publisher.Subscribe(0, {&plain, {}, false});
  publisher.Subscribe(0, {&numbered, {}, true});
  Add(publisher, 0, RowsOfT({"a"}, 1));
  publisher.Publish(42);
  ASSERT_EQ(plain.Messages().size(), 1u);
  EXPECT_EQ(plain.Messages()[0].items().size(), 3u);
  ASSERT_EQ(numbered.Messages().size(), 1u);
  ASSERT_EQ(numbered.Messages()[0].items().size(), 4u);
  EXPECT_EQ(numbered.Messages()[0].items()[3], Value::Long(42));
  EXPECT_EQ(numbered.Messages()[0].items()[2], plain.Messages()[0].items()[2]);
}

TEST(Publisher, SendsAFilteredSubscriberItsSymbolsOnly) {
  Publisher publisher(Schemas(), false);
  DecodingOutlet some, none;
  publisher.Subscribe(0, {&some, {"b", "d"}, false});
  publisher.Subscribe(0, {&none, {"zzz"}, false});
  Add(publisher, 0, RowsOfT({"a", "b", "c", "d", "b"}, 0));
  publisher.Publish(1);
  ASSERT_EQ(some.Messages().size(), 1u);
  const Value table = some.Messages()[0].items()[2];
  EXPECT_EQ(*table.FindColumn("sym"), Value::Symbols({"b", "d", "b"}));
  EXPECT_THAT(table.FindColumn("price")->span<double>(), testing::ElementsAre(1, 3, 4));
  EXPECT_EQ(table.FindColumn("text")->items()[1], Value::String("aaa"));
  EXPECT_TRUE(none.Messages().empty());
}

TEST(Publisher, StartsAMessageWhereANestedColumnChangesItsType) {
  const std::vector<Schema> schemas = {*ParseSchema("t", "sym s, any *")};
  Publisher publisher(schemas, false);
  DecodingOutlet reader;
  publisher.Subscribe(0, {&reader, {}, false});
  for (const Value& any :
       {Value::Longs({1}), Value::List({Value::String("x")}), Value::List({Value::Long(1)})}) {
    ByteBuffer x;
    wire::Encode(Value::List({Value::Symbols({"a"}), any}), x);
    Add(publisher, 0, std::move(x));
  }
  publisher.Publish(3);
  ASSERT_EQ(reader.Messages().size(), 2u);
  EXPECT_EQ(reader.Messages()[1].items()[2].count(), 2u);
}

TEST(Publisher, ForgetsAnOutletAndReplacesItsSubscription) {
  Publisher publisher(Schemas(), false);
  DecodingOutlet reader;
  publisher.Subscribe(0, {&reader, {}, false});
  publisher.Subscribe(0, {&reader, {"b"}, false});
  EXPECT_EQ(publisher.SubscriptionsOf(0).size(), 1u);
  Add(publisher, 0, RowsOfT({"a"}, 1));
  publisher.Publish(1);
  EXPECT_TRUE(reader.kept.empty());
  publisher.Remove(&reader);
  Add(publisher, 0, RowsOfT({"b"}, 1));
  publisher.Publish(2);
  EXPECT_TRUE(reader.kept.empty());
}

// Goal: subscribers read the rows that were added, in order, whatever their size and owner, even
// much later. Method: random batches; all messages are decoded only at the end.
TEST(Publisher, DeliversEveryRowWhateverTheSizes) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    Publisher publisher(Schemas(), seed % 2 == 0);
    DecodingOutlet reader, numbered;
    publisher.Subscribe(0, {&reader, {}, false});
    publisher.Subscribe(0, {&numbered, {}, true});
    std::vector<std::string> expected;
    double next = 0;
    for (int i = 0; i < 30; ++i) {
      const size_t rows = rng() % 4 == 0 ? 600 + rng() % 3000 : 1 + rng() % 3;
      std::vector<std::string> syms;
      for (size_t row = 0; row < rows; ++row) syms.push_back("s" + std::to_string(rng() % 50));
      expected.insert(expected.end(), syms.begin(), syms.end());
      Add(publisher, 0, RowsOfT(syms, next, rng() % 20), rng() % 3 != 0);
      next += static_cast<double>(rows);
      if (rng() % 5 == 0) publisher.Publish(i);
    }
    publisher.Publish(30);
    for (const DecodingOutlet* one : {&reader, &numbered}) {
      std::vector<std::string> syms;
      double price = 0;
      for (const Value& message : one->Messages()) {
        const Value& table = message.items()[2];
        const SymbolVector& names = table.FindColumn("sym")->symbols();
        const std::span<const double> prices = table.FindColumn("price")->span<double>();
        for (size_t row = 0; row < names.size(); ++row) {
          syms.emplace_back(names[row]);
          EXPECT_EQ(prices[row], price++);
        }
      }
      EXPECT_EQ(syms, expected);
    }
  }
}

}  // namespace
}  // namespace tickstack::tickerplant
