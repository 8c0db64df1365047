#include "tplog/tplog_index.h"

#include <gtest/gtest.h>

#include <string>

#include "base/crc32c.h"
#include "base/status.h"
#include "table/bytes_for_test.h"
#include "table/types.h"
#include "tplog/tplog_for_test.h"

namespace tickstack::tplog {
namespace {

// The example of docs/formats.md.
constexpr std::string_view kExample =
    "7473696e6465780a0100000090960f69"
    "e2e8a28e0f0001020100000073696d"
    "7eaf97b4110001010000000071756f7465"
    "5ff28e763800020008000000000000000000000000000000006081494cd61308"
    "010000008fae483068000000010000000000000001000000";

IndexBlock ExampleBlock() {
  IndexBlock block;
  block.offset = 8;
  block.time_ns = 582'044'400'000'000'000;
  block.messages = 1;
  block.crc = 0x3048ae8f;
  block.bytes = 104;
  block.source = 1;
  block.rows = {{0, 1}};
  return block;
}

ByteBuffer Example() {
  ByteBuffer bytes;
  AppendIndexHeader(bytes);
  AppendNameRecord(NameKind::kFeed, 1, "sim", bytes);
  AppendNameRecord(NameKind::kTable, 0, "quote", bytes);
  AppendBlockRecord(RecordKind::kBlock, ExampleBlock(), bytes);
  return bytes;
}

class TplogIndexTest : public TplogTest {
 protected:
  TplogIndexReader Open(std::span<const std::byte> bytes) {
    Write(index_path_, AsText(bytes));
    auto reader = TplogIndexReader::Open(index_path_);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return std::move(reader).value();
  }
  // Reads to the end and returns the status; OK if nothing is damaged.
  absl::Status ReadAll(std::span<const std::byte> bytes) {
    TplogIndexReader reader = Open(bytes);
    while (true) {
      const auto record = reader.Next();
      if (!record.ok()) return record.status();
      if (!record->has_value()) return absl::OkStatus();
    }
  }
};

TEST_F(TplogIndexTest, WritesTheExampleOfTheFormatsPage) { EXPECT_EQ(ToHex(Example()), kExample); }

TEST_F(TplogIndexTest, ReadsTheExampleOfTheFormatsPage) {
  TplogIndexReader reader = Open(FromHex(kExample));
  const auto record = reader.Next().value();
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->block, ExampleBlock());
  EXPECT_EQ(record->begin, 16u);
  EXPECT_EQ(record->end, 104u);
  EXPECT_FALSE(reader.Next().value().has_value());
  EXPECT_EQ(reader.torn_bytes(), 0u);

  TplogTotals totals;
  AddBlock(record->block, reader.names(), totals);
  EXPECT_EQ(totals.messages, 1u);
  EXPECT_EQ(totals.log_bytes, 112u);
  EXPECT_EQ(totals.rows, (TableRows{{"quote", 1}}));
  EXPECT_EQ(totals.feed_rows.at("sim"), (TableRows{{"quote", 1}}));
}

TEST_F(TplogIndexTest, AFileCutAnywhereIsTornAndNotDamaged) {
  const ByteBuffer whole = Example();
  for (size_t bytes = kIndexHeaderBytes; bytes < whole.size(); ++bytes) {
    TplogIndexReader reader = Open(whole.span().first(bytes));
    const auto record = reader.Next();
    ASSERT_TRUE(record.ok()) << record.status();
    ASSERT_FALSE(record->has_value());
    EXPECT_EQ(reader.position(), kIndexHeaderBytes);
    EXPECT_EQ(reader.torn_bytes(), bytes - kIndexHeaderBytes);

    // Reading continues once the rest has arrived.
    AppendTo(index_path_, whole.span().subspan(bytes));
    ASSERT_TRUE(reader.Next().value().has_value()) << bytes;
  }
}

TEST_F(TplogIndexTest, AFlippedBitBeforeTheLastRecordIsDamage) {
  const ByteBuffer example = Example();
  const size_t last_record = example.size() - 56;
  for (size_t at = kIndexHeaderBytes; at < last_record; ++at) {
    ByteBuffer bytes = example.Clone();
    bytes.data()[at] ^= std::byte{1};
    // A record that seems to exceed the file cannot be distinguished from a torn one.
    if (at == 16 + 5 || at == 31 + 5) {
      TplogIndexReader reader = Open(bytes);
      EXPECT_FALSE(reader.Next().value().has_value());
      EXPECT_EQ(reader.torn_bytes(), bytes.size() - kIndexHeaderBytes);
      continue;
    }
    EXPECT_EQ(ReadAll(bytes).code(), absl::StatusCode::kDataLoss) << at;
  }
  for (size_t at = 0; at < kIndexHeaderBytes; ++at) {
    ByteBuffer bytes = example.Clone();
    bytes.data()[at] ^= std::byte{1};
    Write(index_path_, AsText(bytes));
    EXPECT_FALSE(TplogIndexReader::Open(index_path_).ok()) << at;
  }
}

TEST_F(TplogIndexTest, UnreadGoesBackToBeforeTheNames) {
  const ByteBuffer whole = Example();
  TplogIndexReader reader = Open(whole);
  ASSERT_TRUE(reader.Next().value().has_value());
  reader.Unread();
  EXPECT_EQ(reader.position(), kIndexHeaderBytes);
  EXPECT_EQ(reader.names().feeds.next_number(), 1u);

  // The writer took the block back and wrote another one, with another name, in its place.
  ByteBuffer other;
  AppendIndexHeader(other);
  AppendNameRecord(NameKind::kTable, 0, "trade", other);
  IndexBlock block = ExampleBlock();
  block.source = kSourceNone;
  AppendBlockRecord(RecordKind::kBlock, block, other);
  Write(index_path_, AsText(other));
  const auto record = reader.Next().value();
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->block, block);
  EXPECT_EQ(reader.names().tables.NameOf(0), "trade");
  EXPECT_FALSE(reader.names().feeds.Has(1));
}

TEST_F(TplogIndexTest, ACutBlockTakesThePlaceOfTheOneBefore) {
  ByteBuffer bytes;
  AppendIndexHeader(bytes);
  IndexBlock block = ExampleBlock();
  block.source = kSourceNone;
  block.rows.clear();
  block.messages = 10;
  AppendBlockRecord(RecordKind::kBlock, block, bytes);
  IndexBlock cut = block;
  cut.messages = 3;
  cut.bytes = 40;
  AppendBlockRecord(RecordKind::kCutBlock, cut, bytes);
  IndexBlock next = block;
  next.offset = 48;
  next.first_seq = 3;
  AppendBlockRecord(RecordKind::kBlock, next, bytes);

  TplogIndexReader reader = Open(bytes);
  const auto first = reader.Next().value();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->kind, RecordKind::kCutBlock);
  EXPECT_EQ(first->block, cut);
  EXPECT_EQ(reader.Next().value()->block, next);
}

TEST_F(TplogIndexTest, CarriesAFeedsProgress) {
  ByteBuffer bytes;
  AppendIndexHeader(bytes);
  AppendNameRecord(NameKind::kFeed, 1, "sim", bytes);
  AppendNameRecord(NameKind::kTable, 0, "quote", bytes);
  AppendProgressRecord({1, 0, 5'000'000'000}, bytes);
  TplogIndexReader reader = Open(bytes);
  const auto record = reader.Next().value();
  ASSERT_TRUE(record.has_value());
  TplogTotals totals;
  AddProgress(record->progress, reader.names(), totals);
  EXPECT_EQ(totals.feed_rows.at("sim"), (TableRows{{"quote", 5'000'000'000}}));
  EXPECT_TRUE(totals.rows.empty());
}

TEST_F(TplogIndexTest, ContradictionsAreDamageThatNamesTheRecord) {
  const auto expect_damage = [&](auto change, std::string_view expected) {
    ByteBuffer bytes;
    AppendIndexHeader(bytes);
    IndexBlock block = ExampleBlock();
    block.source = kSourceNone;
    block.rows.clear();
    change(bytes, block);
    const absl::Status status = ReadAll(bytes);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_NE(Message(status).find(expected), std::string_view::npos) << status;
    EXPECT_NE(Message(status).find("record at byte"), std::string_view::npos) << status;
  };
  const auto append = [](ByteBuffer& bytes, const IndexBlock& block) {
    AppendBlockRecord(RecordKind::kBlock, block, bytes);
  };
  expect_damage(
      [&](ByteBuffer& bytes, IndexBlock block) {
        block.offset = 9;
        append(bytes, block);
      },
      "message 0 at 9, expected message 0 at 8");
  expect_damage(
      [&](ByteBuffer& bytes, IndexBlock block) {
        append(bytes, block);
        block.offset = 112;
        append(bytes, block);
      },
      "message 0 at 112, expected message 1 at 112");
  expect_damage(
      [&](ByteBuffer& bytes, IndexBlock block) {
        block.messages = 0;
        append(bytes, block);
      },
      "is empty");
  expect_damage(
      [&](ByteBuffer& bytes, IndexBlock block) {
        block.source = 1;
        append(bytes, block);
      },
      "feed number 1 has no name");
  expect_damage(
      [&](ByteBuffer& bytes, IndexBlock block) {
        block.rows = {{3, 1}};
        append(bytes, block);
      },
      "table number 3 has no name");
  expect_damage(
      [&](ByteBuffer& bytes, IndexBlock block) {
        AppendNameRecord(NameKind::kTable, 0, "trade", bytes);
        AppendNameRecord(NameKind::kTable, 1, "quote", bytes);
        block.rows = {{1, 1}, {0, 2}, {1, 3}};
        append(bytes, block);
      },
      "table number 1 is in it twice");
  expect_damage(
      [&](ByteBuffer& bytes, IndexBlock) { AppendNameRecord(NameKind::kTable, 1, "quote", bytes); },
      "name `quote` has number 1, the next one is 0");
  expect_damage([&](ByteBuffer& bytes, IndexBlock) { AppendProgressRecord({1, 0, 1}, bytes); },
                "a number has no name");
  expect_damage([&](ByteBuffer& bytes,
                    IndexBlock block) { AppendBlockRecord(RecordKind::kCutBlock, block, bytes); },
                "a cut of a block that is not the one before");
  expect_damage(
      [&](ByteBuffer& bytes, IndexBlock block) {
        append(bytes, block);
        block.messages = 0;  // No messages, but some bytes: it would cut off existing ones.
        AppendBlockRecord(RecordKind::kCutBlock, block, bytes);
      },
      "a cut of a block that is not the one before");
  expect_damage(
      [&](ByteBuffer& bytes, IndexBlock block) {
        append(bytes, block);
        block.messages = 2;
        AppendBlockRecord(RecordKind::kCutBlock, block, bytes);
      },
      "a cut of a block that is not the one before");
}

TEST_F(TplogIndexTest, RefusesAVersionItDoesNotKnow) {
  ByteBuffer bytes = FromHex("7473696e6465780a 02000000 00000000");
  const uint32_t crc = Crc32c(bytes.span().first(12));
  std::memcpy(bytes.data() + 12, &crc, sizeof(crc));
  Write(index_path_, AsText(bytes));
  EXPECT_EQ(TplogIndexReader::Open(index_path_).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace tickstack::tplog
