#include "disk/column_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "disk/kdb_file_testing.h"

namespace tickstack::disk {
namespace {

using testing::HasSubstr;

class ColumnFileTest : public testing::Test {
 protected:
  ColumnFileTest() {
    files_.Write("sym", NamesFile({"AAPL", "MSFT", "IBM"}));
    domains_ = std::make_shared<SymbolDomains>();
    EXPECT_TRUE(domains_->Add(files_.PathOf("sym")).ok());
  }

  absl::StatusOr<std::shared_ptr<const ColumnFile>> Open(const std::string& bytes) {
    return ColumnFile::Open(files_.Write("col", bytes), domains_);
  }
  std::string ErrorOf(const std::string& bytes) {
    return std::string(Message(Open(bytes).status()));
  }

  KdbFiles files_;
  std::shared_ptr<SymbolDomains> domains_;
};

template <typename T>
std::vector<T> ElementsOf(const ColumnFile& column) {
  const absl::StatusOr<PinnedBytes> raw = column.Elements();
  EXPECT_TRUE(raw.ok()) << raw.status();
  std::vector<T> elements(raw->size() / sizeof(T));
  std::memcpy(elements.data(), raw->data(), raw->size());
  return elements;
}

TEST_F(ColumnFileTest, ReadsAVectorOfEachWidth) {
  for (const auto& [type, width] : std::vector<std::pair<Type, size_t>>{{Type::kBoolean, 1},
                                                                        {Type::kShort, 2},
                                                                        {Type::kReal, 4},
                                                                        {Type::kTimestamp, 8},
                                                                        {Type::kGuid, 16}}) {
    const std::string elements(3 * width, 'x');
    const auto column = Open(VectorHeader(static_cast<int>(type), 0, 3) + elements);
    ASSERT_TRUE(column.ok()) << column.status();
    EXPECT_EQ((*column)->kind(), ColumnKind::kFixed);
    EXPECT_EQ((*column)->type(), type);
    EXPECT_EQ((*column)->rows(), 3u);
    EXPECT_EQ((*column)->element_bytes(), width);
    EXPECT_EQ((*column)->Elements()->size(), elements.size());
  }
}

// Appends do not change the header's count, and newer kdb+ writes none.
TEST_F(ColumnFileTest, TakesTheCountFromTheLengthWhereNoIndexFollows) {
  for (const int64_t stated : {0, 1, 3}) {
    const auto column = Open(VectorHeader(7, 1, stated) + ElementBytes<int64_t>({5, 6, 7}));
    ASSERT_TRUE(column.ok()) << column.status();
    EXPECT_EQ((*column)->attribute(), Attribute::kSorted);
    EXPECT_EQ(ElementsOf<int64_t>(**column), (std::vector<int64_t>{5, 6, 7}));
  }
  EXPECT_THAT(ErrorOf(VectorHeader(7, 0, 4) + ElementBytes<int64_t>({5, 6, 7})),
              HasSubstr("col: byte 8: 4 rows, but the file has room for 3"));
}

TEST_F(ColumnFileTest, TakesTheCountFromTheHeaderWhereAnIndexFollows) {
  const auto column = Open(VectorHeader(7, 3, 2) + ElementBytes<int64_t>({5, 6, 7}));
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ((*column)->rows(), 2u);
}

TEST_F(ColumnFileTest, ReadsAVectorOf2x) {
  const std::string header("\xff\x20\0\0\x20\x3e\0\0\x06\0\0\0\x02\0\0\0", 16);
  const auto column = Open(header + ElementBytes<int32_t>({1, 2, 3}));
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ(ElementsOf<int32_t>(**column), (std::vector<int32_t>{1, 2, 3}));
}

TEST_F(ColumnFileTest, ReadsEnumsOfBothWidthsWithTheNullSymbol) {
  const std::string wide = Enum64File("sym", {2, kNullLong, 0});
  const std::string narrow = Enum32File("sym", {2, kNullInt, 0});
  for (const std::string& bytes : {wide, narrow}) {
    const auto column = Open(bytes);
    ASSERT_TRUE(column.ok()) << column.status();
    EXPECT_EQ((*column)->kind(), ColumnKind::kEnum);
    EXPECT_EQ((*column)->type(), Type::kSymbol);
    EXPECT_EQ((*column)->enum_width(), bytes == wide ? 8u : 4u);
    ASSERT_NE((*column)->domain(), nullptr);
    EXPECT_TRUE((*column)->domain()->positions_are_ids());
    std::vector<SymbolId> ids(3);
    ASSERT_TRUE((*column)->ReadSymbols({0, 3}, ids).ok());
    EXPECT_EQ(ids, (std::vector<SymbolId>{2, kNullSymbol, 0}));
    EXPECT_EQ(*(*column)->ItemAt(0), Value::Symbol("IBM"));
    EXPECT_EQ(*(*column)->ItemAt(1), Value::Symbol(""));
  }
}

TEST_F(ColumnFileTest, NamesARowWhosePositionIsOutsideItsDomain) {
  const auto column = Open(Enum64File("sym", {2, 3}));
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ(*(*column)->ItemAt(0), Value::Symbol("IBM"));
  EXPECT_THAT(std::string(Message((*column)->ItemAt(1).status())),
              HasSubstr("byte 4104: row 1 has position 3, domain sym has 3 names"));
  const auto negative = Open(Enum32File("sym", {-1}));
  ASSERT_TRUE(negative.ok()) << negative.status();
  EXPECT_EQ((*negative)->ItemAt(0).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ColumnFileTest, ReadsPositionsWithoutADomain) {
  const auto column = Open(Enum64File("other", {7}));
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ((*column)->domain(), nullptr);
  EXPECT_EQ((*column)->domain_name(), "other");
  EXPECT_EQ(ElementsOf<int64_t>(**column), (std::vector<int64_t>{7}));
  EXPECT_EQ((*column)->ItemAt(0).status().code(), absl::StatusCode::kNotFound);
}

// A longer name moves the header of a 32-bit enum; the bytes between must then have known values.
TEST_F(ColumnFileTest, ReadsA32BitEnumOfALongName) {
  std::string header = std::string("\xfe") + "exchange";
  header.resize(16 + 8, '\0');
  const std::string rest = LittleBytes<int64_t>(1) + ElementBytes<int32_t>({1});
  const auto column = Open(header + rest);
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ((*column)->domain_name(), "exchange");
  EXPECT_EQ((*column)->rows(), 1u);
  header[12] = 'x';
  EXPECT_THAT(ErrorOf(header + rest), HasSubstr("byte 12: 120, expected 0"));
}

TEST_F(ColumnFileTest, ReadsSymbolsWithoutADomainToTheEndOfTheFile) {
  const auto column = Open(NamesFile({"a", "", "ccc"}, 2));
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ((*column)->kind(), ColumnKind::kSymbols);
  ASSERT_EQ((*column)->rows(), 3u);
  EXPECT_EQ(*(*column)->ItemAt(0), Value::Symbol("a"));
  EXPECT_EQ(*(*column)->ItemAt(1), Value::Symbol(""));
  EXPECT_EQ(*(*column)->ItemAt(2), Value::Symbol("ccc"));
  EXPECT_FALSE((*column)->Elements().ok());
  EXPECT_THAT(ErrorOf(NamesFile({"a"}, 2)), HasSubstr("byte 4: 2 names, but the file has 1"));
}

TEST_F(ColumnFileTest, ReadsOldNestedColumns) {
  files_.Write("col#", "abcde");
  const auto column = Open(VectorFile<int64_t>(87, {2, 2, 5}));
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ((*column)->kind(), ColumnKind::kItems);
  EXPECT_EQ((*column)->type(), Type::kList);
  EXPECT_EQ(*(*column)->ItemAt(0), Value::String("ab"));
  EXPECT_EQ(*(*column)->ItemAt(1), Value::String(""));
  EXPECT_EQ(*(*column)->ItemAt(2), Value::String("cde"));
  EXPECT_FALSE((*column)->ItemAt(3).ok());
}

TEST_F(ColumnFileTest, OldNestedRowsOutsideTheirElementsAreErrorsOfThoseRows) {
  files_.Write("col#", std::string(24, 'x'));
  const auto column = Open(VectorFile<int64_t>(77 + 9, {2, 4, 3, -1}));
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ((*column)->ItemAt(0)->count(), 2u);
  for (const auto& [row, expected] :
       std::vector<std::pair<uint64_t, std::string>>{{1, "byte 24: row 1 ends at element 4, but"},
                                                     {2, "byte 24: row 1 ends at element 4, but"},
                                                     {3, "byte 40: row 3 ends at element -1"}}) {
    EXPECT_THAT(std::string(Message((*column)->ItemAt(row).status())), HasSubstr(expected));
  }
  EXPECT_THAT(ErrorOf(VectorFile<int64_t>(88, {1})), HasSubstr("type 88"));
}

TEST_F(ColumnFileTest, ReadsTheEmptyList) {
  const auto column = Open(std::string("\xff\x01\0\0\0\0\0\0", 8));
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ((*column)->kind(), ColumnKind::kItems);
  EXPECT_EQ((*column)->rows(), 0u);
}

TEST_F(ColumnFileTest, NamesWhatIsNoColumn) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("byte 0: the file ends here, in a header of 16 bytes"));
  EXPECT_THAT(ErrorOf("\xfe\x20 short"), HasSubstr("byte 8: the file ends here"));
  EXPECT_THAT(ErrorOf("some text of somebody"),
              HasSubstr("expected the first bytes of a kdb+ file"));
  EXPECT_THAT(ErrorOf(VectorHeader(3, 0, 0)), HasSubstr("byte 2: type 3"));
  EXPECT_THAT(ErrorOf(VectorHeader(7, 5, 0)), HasSubstr("byte 3: attribute 5"));
  EXPECT_THAT(ErrorOf(VectorHeader(7, 0, -1)), HasSubstr("byte 8: -1 rows"));
  EXPECT_THAT(ErrorOf(Enum64File("sym", {}).substr(0, 4095)),
              HasSubstr("byte 4095: the file ends"));
  EXPECT_THAT(ErrorOf(PageHeader("", 0, 20, 0, 0)),
              HasSubstr("byte 16: expected the name of a domain"));
  EXPECT_THAT(ErrorOf(PageHeader("", 0, 4, 0, 0)), HasSubstr("the items of a nested column"));
  EXPECT_THAT(ErrorOf(PageHeader("", 0, 21, 0, 0)), HasSubstr("byte 4082: type 21"));
  EXPECT_THAT(ErrorOf("kxzippEd"), HasSubstr("an encrypted file"));
  EXPECT_EQ(ColumnFile::Open(files_.PathOf("nothing")).status().code(),
            absl::StatusCode::kNotFound);
}

// Returns an index for the worked example: keys 4 5 3 0 1 2, 16 slots.
std::string IndexOf(const std::vector<int64_t>& keys, const std::vector<int64_t>& starts) {
  std::string index(8, '\0');
  index += std::string("\x05\0\x14\x02\0\0\0\0", 8) + LittleBytes<int64_t>(6) + ElementBytes(keys);
  index += std::string(8 * (8 - 6), '\0') + std::string(8, '\0') + std::string(16 * 8, '\xff');
  index += std::string("\x03\0\x07\0\0\0\0\0", 8) + LittleBytes<int64_t>(7) + ElementBytes(starts);
  return index;
}

class PartedTest : public ColumnFileTest {
 protected:
  const std::vector<int64_t> positions_{4, 4, 5, 3, 0, 0, 0, 1, 2};
  const std::vector<int64_t> keys_{4, 5, 3, 0, 1, 2};
  const std::vector<int64_t> starts_{0, 2, 3, 4, 7, 8, 9};
};

TEST_F(PartedTest, FindsTheRowsOfAKeyByTheIndex) {
  const auto column = Open(Enum64File("sym", positions_, 3) + IndexOf(keys_, starts_));
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ((*column)->rows(), 9u);
  const absl::StatusOr<const PartedIndex*> index = (*column)->Parted();
  ASSERT_TRUE(index.ok() && *index != nullptr);
  ASSERT_EQ((*index)->keys(), 6u);
  EXPECT_EQ((*index)->key(0), 4);
  EXPECT_EQ((*index)->rows(3), (RowRange{4, 7}));
  EXPECT_EQ(**(*column)->RowsOf(0), (RowRange{4, 7}));
  EXPECT_EQ(**(*column)->RowsOf(2), (RowRange{8, 9}));
  EXPECT_EQ(*(*column)->RowsOf(6), std::nullopt);
}

TEST_F(PartedTest, DoesWithoutAnIndexThatContradictsItself) {
  using Longs = std::vector<int64_t>;
  const std::vector<std::pair<Longs, Longs>> wrong = {
      {{4, 5, 3, 0, 1, 4}, starts_},           // A key twice.
      {keys_, {0, 2, 3, 3, 7, 8, 9}},          // A key without rows.
      {keys_, {1, 2, 3, 4, 7, 8, 9}},          // Not from the first row.
      {keys_, {0, 2, 3, 4, 7, 8, 10}},         // Beyond the last row.
      {keys_, {0, 2, 3, 4, 7, INT64_MAX, 9}},  // Descending.
  };
  for (const auto& [keys, starts] : wrong) {
    const auto column = Open(Enum64File("sym", positions_, 3) + IndexOf(keys, starts));
    ASSERT_TRUE(column.ok()) << column.status();
    EXPECT_EQ(*(*column)->Parted(), nullptr);
    EXPECT_EQ((*column)->RowsOf(0).status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(ElementsOf<int64_t>(**column), positions_);
  }
}

TEST_F(PartedTest, DoesWithoutAnIndexThatIsCutOffAnywhere) {
  const std::string whole = Enum64File("sym", positions_, 3) + IndexOf(keys_, starts_);
  const size_t data_end = 4096 + 8 * positions_.size();
  for (size_t bytes = data_end; bytes < whole.size(); ++bytes) {
    const auto column = Open(whole.substr(0, bytes));
    ASSERT_TRUE(column.ok()) << column.status();
    ASSERT_EQ(*(*column)->Parted(), nullptr) << bytes;
  }
  EXPECT_THAT(ErrorOf(whole.substr(0, data_end - 1)), HasSubstr("9 rows, but the file has room"));
}

TEST_F(PartedTest, SeesThatAnIndexIsOfOtherRows) {
  const auto column =
      Open(Enum64File("sym", positions_, 3) + IndexOf(keys_, {0, 1, 2, 3, 4, 5, 9}));
  ASSERT_TRUE(column.ok()) << column.status();
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ((*column)->RowsOf(5).status().code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(**(*column)->RowsOf(4), (RowRange{0, 1}));
  }
}

// Goal: many queries for a symbol compare its rows with the index once. Method: the rows of two
// symbols change in the mapped file after one of them was asked for.
TEST_F(PartedTest, ComparesTheRowsOfAKeyWithTheIndexOnce) {
  const auto column = Open(Enum64File("sym", positions_, 3) + IndexOf(keys_, starts_));
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ(**(*column)->RowsOf(0), (RowRange{4, 7}));
  auto file = File::OpenOrCreate((*column)->path());
  ASSERT_TRUE(file.ok()) << file.status();
  const std::string others = ElementBytes<int64_t>({9, 9, 9, 9});
  ASSERT_TRUE(file->WriteAt(4096 + 4 * 8, AsBytes(others)).ok());  // Rows 4 to 7.
  EXPECT_EQ(**(*column)->RowsOf(0), (RowRange{4, 7}));
  EXPECT_EQ((*column)->RowsOf(1).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace tickstack::disk
