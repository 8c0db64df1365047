// Tables whose full chunks move to a tier of older rows while others append and read.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "mem/aged_tier.h"
#include "table/batch_testing.h"
#include "table/replaced_memory.h"
#include "table/table.h"

namespace tickstack {
namespace {

constexpr size_t kPage = mem::Tier::kHugePageBytes;
constexpr size_t kChunkRows = 1024;

size_t UsedBytes(const mem::Tier& tier) { return tier.Stats().used_bytes; }

// Row i has time i, one of seven symbols, and the value 3 i.
Batch RowsFrom(size_t begin, size_t rows) {
  std::vector<int64_t> times(rows), values(rows);
  std::vector<std::string> names;
  for (size_t i = 0; i < rows; ++i) {
    times[i] = static_cast<int64_t>(begin + i);
    values[i] = 3 * times[i];
    names.push_back("S" + std::to_string((begin + i) % 7));
  }
  Batch batch(rows);
  batch.Add(Type::kTimestamp, times).AddSymbols(names).Add(Type::kLong, values);
  return batch;
}

class AgedTable : public testing::Test {
 protected:
  explicit AgedTable(size_t recent_bytes = SIZE_MAX, size_t older_bytes = SIZE_MAX)
      : recent_(mem::MakeDramTier("recent", recent_bytes)),
        older_(mem::MakeDramTier("older", older_bytes)),
        aged_(recent_.get(), older_.get()),
        table_(*Table::Create(*ParseSchema("t", "time p, sym s, value j"), &symbols_,
                              {&aged_, {}, nullptr}, {.rows_per_chunk = kChunkRows})) {}

  absl::Status Append(size_t rows) { return table_->Append(RowsFrom(table_->rows(), rows).view()); }
  // Moves every full chunk that is in the recent tier, and returns their number.
  size_t MoveAll() {
    size_t moved = 0;
    while (const std::optional<Table::AgedChunk> chunk = table_->FindRecent(0)) {
      EXPECT_TRUE(table_->MoveToOlder(chunk->chunk).ok());
      ++moved;
    }
    return moved;
  }
  // Compares all rows of a snapshot, by chunk and by symbol, with what RowsFrom wrote.
  static void ExpectRows(const Snapshot& snapshot, size_t rows) {
    ASSERT_EQ(snapshot.rows(), rows);
    size_t row = 0;
    for (size_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
      for (const int64_t value : snapshot.Chunk<int64_t>(2, chunk)) {
        ASSERT_EQ(value, static_cast<int64_t>(3 * row));
        ++row;
      }
    }
    ASSERT_EQ(row, rows);
    for (SymbolId symbol = 0; symbol < std::min<SymbolId>(7, static_cast<SymbolId>(rows));
         ++symbol) {
      const Postings postings = *snapshot.RowsOf(symbol);
      size_t expected = static_cast<size_t>(symbol);
      for (const PostingRun& run : postings.runs) {
        for (const uint32_t at : run.rows) {
          ASSERT_EQ(at, expected);
          ASSERT_EQ(postings.times->ExactNs(at), static_cast<int64_t>(expected));
          expected += 7;
        }
      }
    }
  }

  SymbolTable symbols_;
  std::unique_ptr<mem::Tier> recent_, older_;
  mem::AgedTier aged_;
  std::shared_ptr<Table> table_;
};

TEST_F(AgedTable, MovesFullChunksAndKeepsEveryRow) {
  ASSERT_TRUE(Append(3 * kChunkRows + 10).ok());
  ASSERT_EQ(table_->full_chunks(), 3);
  const size_t before = UsedBytes(*recent_);
  EXPECT_EQ(table_->FindRecent(0)->newest_ns, static_cast<int64_t>(kChunkRows) - 1);
  EXPECT_EQ(table_->FindRecent(0)->rows, kChunkRows);
  EXPECT_EQ(MoveAll(), 3);
  // A chunk has 8 + 4 + 8 bytes a row.
  EXPECT_EQ(UsedBytes(*older_), 3 * kChunkRows * 20);
  EXPECT_EQ(UsedBytes(*recent_), before - 3 * kChunkRows * 20);
  EXPECT_EQ(table_->older_bytes(0), 3 * kChunkRows * 8);
  EXPECT_EQ(table_->column_bytes(0), 4 * kChunkRows * 8);
  ExpectRows(table_->TakeSnapshot(), 3 * kChunkRows + 10);
  ASSERT_TRUE(Append(2 * kChunkRows).ok());
  EXPECT_EQ(MoveAll(), 2);
  ExpectRows(table_->TakeSnapshot(), 5 * kChunkRows + 10);
  table_.reset();
  EXPECT_EQ(UsedBytes(*older_), 0);
  EXPECT_EQ(UsedBytes(*recent_), 0);
}

// A snapshot keeps what it may still read, and no more: the memory is freed with the last snapshot
// that was taken before the move, in whatever order snapshots end.
TEST_F(AgedTable, FreesAChunkWhenNoSnapshotCanReadIt) {
  ASSERT_TRUE(Append(2 * kChunkRows).ok());
  std::optional<Snapshot> first = table_->TakeSnapshot();
  const std::span<const int64_t> seen = first->Chunk<int64_t>(2, 0);
  const size_t before = UsedBytes(*recent_);
  ASSERT_TRUE(table_->MoveToOlder(0).ok());
  EXPECT_EQ(UsedBytes(*recent_), before);
  EXPECT_EQ(table_->WaitingBytes(recent_.get()), kChunkRows * 20);
  std::optional<Snapshot> second = table_->TakeSnapshot();
  EXPECT_NE(second->Chunk<int64_t>(2, 0).data(), seen.data());
  ASSERT_TRUE(table_->MoveToOlder(1).ok());
  second.reset();
  EXPECT_EQ(UsedBytes(*recent_), before);  // The first snapshot may read chunk 1, too.
  for (size_t i = 0; i < kChunkRows; ++i) ASSERT_EQ(seen[i], static_cast<int64_t>(3 * i));
  ExpectRows(*first, 2 * kChunkRows);
  first.reset();
  EXPECT_EQ(UsedBytes(*recent_), before - 2 * kChunkRows * 20);
  EXPECT_EQ(table_->WaitingBytes(recent_.get()), 0);
}

class AgedTableInSmallTiers : public AgedTable {
 protected:
  // Tiers of this size have pages of 64 KiB.
  AgedTableInSmallTiers() : AgedTable(4 * kPage, 8 * kPage) {}
};

// Goal: rows are refused only if both tiers are full, and a full older tier changes nothing.
TEST_F(AgedTableInSmallTiers, ContinuesInTheOlderTierWhenTheRecentOneIsFull) {
  size_t rows = 0;
  absl::Status status;
  while ((status = Append(500)).ok()) {
    rows += 500;
    ASSERT_LT(rows, 1'000'000);
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_GT(table_->older_bytes(2), 0);
  EXPECT_GT(static_cast<double>(UsedBytes(*recent_)), 0.9 * 4 * kPage);
  EXPECT_GT(static_cast<double>(UsedBytes(*older_)), 0.9 * 8 * kPage);
  EXPECT_EQ(recent_->Stats().refused, 0);  // The older tier took what did not fit.
  ExpectRows(table_->TakeSnapshot(), rows);
  const size_t recent_bytes = UsedBytes(*recent_);
  while (table_->FindRecent(0).has_value()) {
    const size_t older_bytes = UsedBytes(*older_);
    const absl::StatusOr<size_t> moved = table_->MoveToOlder(table_->FindRecent(0)->chunk);
    if (moved.ok()) continue;
    EXPECT_EQ(moved.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(UsedBytes(*older_), older_bytes);
    break;
  }
  EXPECT_LE(UsedBytes(*recent_), recent_bytes);
  ExpectRows(table_->TakeSnapshot(), rows);
}

// Goal: appends, moves and reads at once never show a wrong row or use freed memory. Method: a
// writer, a mover and three readers; the recent tier reuses its chunks all the time.
TEST_F(AgedTable, IsReadWhileChunksMove) {
  constexpr size_t kRows = 200 * kChunkRows;
  constexpr int kTurnsMin = 5;
  std::atomic<bool> done = false;
  std::atomic<int> ready = 0;  // Readers that have compared some rows.
  std::thread mover([&] {
    while (!done) {
      MoveAll();
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&, i] {
      std::optional<Snapshot> kept;  // One reader keeps a snapshot over several turns.
      for (int turn = 0; !done; ++turn) {
        const Snapshot snapshot = table_->TakeSnapshot();
        if (i == 0 && turn % 5 == 0) kept = snapshot;
        const Snapshot& read = i == 0 ? *kept : snapshot;
        if (read.rows() > 0) ExpectRows(read, read.rows());
        if (turn == kTurnsMin) ++ready;
      }
    });
  }
  for (size_t row = 0; row < kRows; row += 512) {
    if (row == kRows / 2) {
      while (ready < 3) std::this_thread::yield();
    }
    EXPECT_TRUE(Append(512).ok());
  }
  done = true;
  mover.join();
  for (std::thread& reader : readers) reader.join();
  MoveAll();
  EXPECT_EQ(table_->WaitingBytes(recent_.get()), 0);
  EXPECT_EQ(UsedBytes(*older_), kRows * 20);
  ExpectRows(table_->TakeSnapshot(), kRows);
}

TEST(ReplacedMemory, IsFreedInTheEndEvenIfTheLeaseOutlivesTheOwner) {
  const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("tier");
  std::shared_ptr<const void> lease;
  {
    ReplacedMemory replaced;
    lease = replaced.Take();
    replaced.Replace({{tier.get(), *tier->Allocate(4096), 4096}});
  }
  EXPECT_EQ(UsedBytes(*tier), 4096);
  lease.reset();
  EXPECT_EQ(UsedBytes(*tier), 0);
}

}  // namespace
}  // namespace tickstack
