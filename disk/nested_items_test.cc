#include "disk/nested_items.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "disk/column_file.h"
#include "disk/kdb_file_testing.h"
#include "disk/stored_value.h"

namespace tickstack::disk {
namespace {

using testing::HasSubstr;

std::string Longs(const std::vector<int64_t>& longs) { return ElementBytes(longs); }
std::string Ints(const std::vector<int32_t>& ints) { return ElementBytes(ints); }

// A full item.
std::string Full(int type, int64_t count, const std::string& content) {
  std::string item("\xfb\0", 2);
  item += static_cast<char>(type);
  return item + std::string(1, '\0') + LittleBytes(int32_t{1}) + LittleBytes(count) + content;
}

class NestedItemsTest : public testing::Test {
 protected:
  NestedItemsTest() {
    files_.Write("sym", NamesFile({"AAPL", "MSFT"}));
    domains_ = std::make_shared<SymbolDomains>();
    EXPECT_TRUE(domains_->Add(files_.PathOf("sym")).ok());
  }
  // Returns the row of a column with a single row, whose item is at `offset` of `items`.
  absl::StatusOr<Value> Item(const std::string& items, int64_t offset = 0) {
    files_.Write("col#", PageHeader("", 0, 4, 0, 0) + items);
    files_.Write("col##", NamesFile({"a", "b", "sym"}));
    const auto column = ColumnFile::Open(
        files_.Write("col", PageHeader("", 1, 77, 0, 1) + Longs({offset})), domains_);
    return column.ok() ? (*column)->ItemAt(0) : column.status();
  }
  std::string ErrorOf(const std::string& items, int64_t offset = 0) {
    return std::string(Message(Item(items, offset).status()));
  }

  KdbFiles files_;
  std::shared_ptr<SymbolDomains> domains_;
};

TEST_F(NestedItemsTest, ReadsPackedItems) {
  EXPECT_EQ(*Item("\x89\x02hi"), Value::String("hi"));
  EXPECT_EQ(*Item(std::string("\x86\x02", 2) + Longs({1, 2})), Value::Longs({1, 2}));
  EXPECT_EQ(*Item(std::string("\x8a\x02", 2) + Ints({1, 0})), Value::Symbols({"b", "a"}));
  EXPECT_EQ(*Item("\x78" + Longs({7})), Value::Long(7));
  EXPECT_EQ(*Item("\x74" + Ints({1})), Value::Symbol("b"));
  EXPECT_EQ(*Item("\x93" + Ints({2}) + "\x03" + Longs({1, kNullLong, 0})),
            Value::Symbols({"MSFT", "", "AAPL"}));
  // The flags above the offset's 56 bits change nothing.
  EXPECT_EQ(*Item("..\x89\x02hi", 2 | int64_t{1} << 56), Value::String("hi"));
}

TEST_F(NestedItemsTest, ReadsFullItemsAndWhatTheyReferTo) {
  EXPECT_EQ(*Item(Full(7, 2, Longs({1, 2}))), Value::Longs({1, 2}));
  const std::string list = Full(0x4d, 2, Longs({32, 36})) + "\x89\x02hi\x89\x01x";
  EXPECT_EQ(*Item(list), Value::List({Value::String("hi"), Value::String("x")}));
  const std::string two = std::string("\x86\x02", 2) + Longs({1, 2});
  EXPECT_EQ(*Item(Full(0x63, 2, Longs({32, 32})) + two),
            Value::Dict(Value::Longs({1, 2}), Value::Longs({1, 2})));
  const std::string table = Full(0x62, 2, Longs({32, 48})) + "\x8a\x01" + Ints({0}) +
                            std::string(10, '\0') + Full(0x4d, 1, Longs({72})) + two;
  EXPECT_EQ(*Item(table), Value::Table({"a"}, {Value::Longs({1, 2})}));
  EXPECT_EQ(*Item(Full(0x14, 2, Longs({1, 0}))), Value::Symbols({"MSFT", "AAPL"}));
}

TEST_F(NestedItemsTest, NamesWhatCannotBe) {
  const std::string two = std::string("\x86\x02", 2) + Longs({1, 2});
  for (const auto& [items, expected] : std::vector<std::pair<std::string, std::string>>{
           {"", "item ends after byte 4096"},
           {"\x89\x7fhi", "an item of 127 elements in a file of"},
           {"\x82", "type 82, expected a type of kdb+"},
           {"\x7c", "type 7c, expected a type of kdb+"},
           {"\x01", "type 01, expected a type of kdb+"},
           {Full(3, 0, ""), "type 03, expected a type of kdb+"},
           {Full(7, -1, ""), "an item whose header cannot be"},
           {Full(7, INT64_MAX, ""), "elements in a file of"},
           {Full(7, 2, Longs({1})), "item ends after byte 4120"},
           {"\x74" + Ints({3}), "symbol 3, of 3"},
           {"\x74" + Ints({-1}), "symbol -1, of 3"},
           {"\x93" + Ints({0}) + "\x01" + Longs({0}), "an enum of a, expected a domain"},
           {"\x93" + Ints({2}) + "\x01" + Longs({2}), "position 2, domain sym has 2 names"},
           {Full(0x63, 2, Longs({32, 50})) + two + "\x78" + Longs({1}), "not lists of one length"},
           {Full(0x62, 2, Longs({32, 32})) + two, "a table that has no name for each column"},
           {Full(0x4d, 1, Longs({INT64_MAX})), "item ends after byte"}}) {
    const absl::StatusOr<Value> item = Item(items);
    ASSERT_FALSE(item.ok()) << expected;
    EXPECT_THAT(std::string(Message(item.status())), HasSubstr(expected));
    EXPECT_THAT(std::string(Message(item.status())), HasSubstr("col: byte 4096: row 0: "));
  }
  EXPECT_THAT(ErrorOf("x", int64_t{1} << 55), HasSubstr("item ends after byte"));
}

TEST_F(NestedItemsTest, ACycleOrATreeLargerThanItsFileIsAnError) {
  EXPECT_THAT(ErrorOf(Full(0x4d, 1, Longs({0}))), HasSubstr("nested deeper than 64 values"));
  // Twenty lists of a hundred references, each to the next one: 10^40 items.
  std::string lists;
  for (int64_t i = 0; i < 20; ++i) {
    lists += Full(0x4d, 100, Longs(std::vector<int64_t>(100, (i + 1) * (16 + 800))));
  }
  const absl::StatusOr<Value> item = Item(lists + "\x89\x02hi");
  EXPECT_EQ(item.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(NestedItemsTest, CompanionsHaveToBeThereAndOfTheirKind) {
  const std::string path = files_.Write("lone", PageHeader("", 1, 77, 0, 1) + Longs({0}));
  EXPECT_EQ(ColumnFile::Open(path).status().code(), absl::StatusCode::kNotFound);
  files_.Write("lone#", VectorFile<int64_t>(7, {1}));
  EXPECT_THAT(std::string(Message(ColumnFile::Open(path).status())),
              HasSubstr("lone#: byte 0: expected the items of an anymap"));
  files_.Write("lone#", PageHeader("", 0, 4, 0, 0) + "\x89\x02hi");
  EXPECT_EQ(*(*ColumnFile::Open(path))->ItemAt(0), Value::String("hi"));  // No symbols, no col##.
}

class StoredValueTest : public NestedItemsTest {
 protected:
  absl::StatusOr<Value> Read(const std::string& bytes) {
    return ReadStoredValue(files_.Write("value", bytes), domains_);
  }
  const std::string tag_{"\xff\x01", 2};
  const std::string enum_ = "\x15sym" + std::string(1, '\0') + "\x03" + Ints({2, 0, 1});
};

TEST_F(StoredValueTest, ListsAndVectorsGoToTheEndOfTheFile) {
  const std::string header = tag_ + std::string("\0\0", 2);
  const std::string items = std::string("\x0a\0\2\0\0\0hi", 8) + "\xf9" + Longs({5});
  const Value expected = Value::List({Value::String("hi"), Value::Long(5)});
  for (const int32_t count : {0, 1, 2}) EXPECT_EQ(*Read(header + Ints({count}) + items), expected);
  EXPECT_THAT(std::string(Message(Read(header + Ints({3}) + items).status())),
              HasSubstr("value: byte 4: 3 items, but the file has 2"));
  EXPECT_THAT(std::string(Message(Read(header + Ints({0}) + items + "\x0a").status())),
              HasSubstr("value: byte 25: expected a value"));
  EXPECT_EQ(*Read(tag_ + std::string("\7\0", 2) + Ints({0}) + Longs({1, 2})), Value::Longs({1, 2}));
  EXPECT_EQ(*Read(NamesFile({"a", "b"})), Value::Symbols({"a", "b"}));
}

TEST_F(StoredValueTest, EnumsInFlatTablesAreTheirSymbols) {
  const std::string table = tag_ + std::string("\x62\0\x63\x0b\0", 5) + Ints({2}) +
                            std::string("s\0p\0\0\0", 6) + Ints({2});
  const std::string prices = std::string("\7\0", 2) + Ints({2}) + Longs({10, 20});
  EXPECT_EQ(*Read(table + enum_ + prices),
            Value::Table({"s", "p"}, {Value::Symbols({"AAPL", "MSFT"}, Attribute::kParted),
                                      Value::Longs({10, 20})}));
  std::string outside = enum_;
  outside[10] = 9;
  EXPECT_THAT(std::string(Message(Read(table + outside + prices).status())),
              HasSubstr("an enum with position 9, domain sym has 2 names"));
  std::string other = enum_;
  other.replace(1, 3, "who");
  EXPECT_EQ(Read(table + other + prices).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Read(table + enum_.substr(0, 12)).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Read(table + enum_ + prices + "x").status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(StoredValueTest, AnyColumnIsAValueToo) {
  EXPECT_EQ(*Read(VectorFile<int64_t>(7, {1, 2})), Value::Longs({1, 2}));
  EXPECT_EQ(*Read(Enum64File("sym", {1, 0})), Value::Symbols({"MSFT", "AAPL"}));
  files_.Write("value#", "abc");
  EXPECT_EQ(*Read(VectorFile<int64_t>(87, {1, 3})),
            Value::List({Value::String("a"), Value::String("bc")}));
  EXPECT_EQ(*Read(tag_ + "\xf9" + Longs({7})), Value::Long(7));
  EXPECT_EQ(Read("some text of somebody").status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace tickstack::disk
