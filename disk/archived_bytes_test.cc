// Columns that are read from an object store, through the cache.

#include "disk/archived_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "disk/checksum_file.h"
#include "disk/column_file.h"
#include "disk/object_store_testing.h"
#include "disk/partition_testing.h"
#include "disk/table_archive.h"

namespace tickstack::disk {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kMiB = uint64_t{1} << 20;

class ArchivedBytesTest : public testing::Test {
 protected:
  // Archives a table with columns of `bytes` bytes: the longs 0, 1, 2 and so on.
  void MakeTable(const std::string& table, std::vector<std::string> columns, uint64_t bytes) {
    const std::string directory = folder_ / table;
    fs::create_directories(directory);
    std::vector<int64_t> numbers(bytes / sizeof(int64_t));
    std::iota(numbers.begin(), numbers.end(), 0);
    ByteBuffer file;
    file.Append(std::string_view("\xfe\x20\x07\0\0\0\0\0", 8));
    file.AppendLittle(static_cast<int64_t>(numbers.size()));
    file.Append(std::as_bytes(std::span(numbers)));
    std::vector<FileChecksums> checksums;
    for (const std::string& column : columns) {
      PutFile(directory + "/" + column, AsText(file.span()));
      BlockChecksums blocks;
      blocks.Append(file.span());
      FileChecksums of_file{column, file.size(), {}};
      of_file.blocks = std::move(blocks).Finish();
      checksums.push_back(std::move(of_file));
    }
    PutFile(directory + "/.checksums", AsText(EncodeChecksums(checksums).span()));
    ArchiveOptions options;
    options.store = store_.shared();
    options.object_bytes = 8 * kMiB;
    const auto archived = ArchiveTable(directory, options);
    ASSERT_TRUE(archived.ok()) << archived.status();
    ASSERT_EQ(archived->files, columns.size());
  }
  std::shared_ptr<const ColumnFile> Open(const std::string& path) const {
    const auto column = ColumnFile::Open(folder_ / path);
    EXPECT_TRUE(column.ok()) << column.status();
    return column.ok() ? *column : nullptr;
  }
  // Reads rows as a query does, in steps, and compares them.
  static absl::Status Scan(const ColumnFile& column, uint64_t begin_row, uint64_t end_row,
                           uint64_t step = 65'536) {
    TS_ASSIGN_OR_RETURN(const PinnedBytes elements, column.ElementsInPlace());
    for (uint64_t row = begin_row; row < end_row; row += step) {
      const uint64_t end = std::min(end_row, row + step);
      TS_RETURN_IF_ERROR(column.VerifyRows({row, end}));
      for (uint64_t each = row; each < end; ++each) {
        int64_t number = 0;
        std::memcpy(&number, elements.data() + each * sizeof(number), sizeof(number));
        if (number != static_cast<int64_t>(each)) {
          return Internal("row {} is {}", each, number);
        }
      }
    }
    return absl::OkStatus();
  }
  static ArchiveCounts Counts() { return ArchiveCache::Instance().Counts(); }

  const TemporaryFolder folder_{TemporaryFolder::InMemory()};
  const StoreOfTest store_;
};

TEST_F(ArchivedBytesTest, AScanFetchesAheadInLargeRequests) {
  MakeTable("t", {"a"}, 40 * kMiB);
  const auto column = Open("t/a");
  ASSERT_NE(column, nullptr);
  EXPECT_EQ(column->rows(), 5 * kMiB);
  const uint64_t gets_before = store_->gets();
  const ArchiveCounts before = Counts();
  store_->SetDelay(milliseconds(5));
  ASSERT_TRUE(Scan(*column, 0, column->rows()).ok());
  const ArchiveCounts after = Counts();
  // The first requests are as small as the steps; later ones have 4 MiB, except at the ends of
  // objects.
  EXPECT_LT(store_->gets() - gets_before, 30u);
  EXPECT_EQ(store_->get_bytes_max(), 4 * kMiB);
  EXPECT_GE(store_->running_max(), 2);
  EXPECT_EQ(after.store_bytes - before.store_bytes, 40 * kMiB + 16 - kChecksumBlockBytes);
  EXPECT_EQ(after.held_bytes, 40 * kMiB + 16);
  // Again: from the cache alone.
  ASSERT_TRUE(Scan(*column, 0, column->rows()).ok());
  EXPECT_EQ(Counts().store_bytes, after.store_bytes);
  EXPECT_GE(Counts().cache_bytes - after.cache_bytes, 40 * kMiB);
}

TEST_F(ArchivedBytesTest, AReadOfFewRowsFetchesTheirBlocksOnly) {
  MakeTable("t", {"a"}, 40 * kMiB);
  const auto column = Open("t/a");
  const ArchiveCounts before = Counts();
  ASSERT_TRUE(Scan(*column, 1'000'000, 1'000'010).ok());
  ASSERT_TRUE(Scan(*column, 3'000'000, 3'000'010).ok());
  EXPECT_EQ(Counts().store_bytes - before.store_bytes, 2 * kChecksumBlockBytes);
  EXPECT_EQ(Counts().store_requests - before.store_requests, 2u);
}

// Goal: the memory of archived columns never exceeds the limit. Method: columns of four times the
// limit are read one after the other, while another thread looks at the counter.
TEST_F(ArchivedBytesTest, TheCacheHoldsItsBound) {
  const uint64_t limit = 24 * kMiB;
  ArchiveCache::Instance().Configure(limit, 4);
  MakeTable("t", {"a", "b", "c", "d", "e", "f", "g", "h"}, 12 * kMiB);
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> most = 0;
  std::thread watcher([&] {
    while (!stop.load()) most.store(std::max(most.load(), Counts().held_bytes));
  });
  const ArchiveCounts before = Counts();
  std::vector<std::shared_ptr<const ColumnFile>> columns;
  for (int round = 0; round < 2; ++round) {
    for (const char* const name : {"t/a", "t/b", "t/c", "t/d", "t/e", "t/f", "t/g", "t/h"}) {
      columns.push_back(Open(name));  // All stay open.
      ASSERT_NE(columns.back(), nullptr);
      const absl::Status status = Scan(*columns.back(), 0, columns.back()->rows());
      ASSERT_TRUE(status.ok()) << status;
    }
  }
  stop.store(true);
  watcher.join();
  EXPECT_LE(most.load(), limit);
  EXPECT_GT(most.load(), limit / 2);
  EXPECT_GT(Counts().evicted_bytes - before.evicted_bytes, 100 * kMiB);
}

TEST_F(ArchivedBytesTest, AQueryThatNeedsMoreThanTheCacheFailsByName) {
  ArchiveCache::Instance().Configure(8 * kMiB, 4);
  MakeTable("t", {"a", "b"}, 6 * kMiB);
  const auto a = Open("t/a"), b = Open("t/b");
  {
    const PinnedBytes held = *a->ElementsInPlace();
    ASSERT_TRUE(Scan(*a, 0, a->rows()).ok());
    const absl::Status status = Scan(*b, 0, b->rows());
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(Message(status)), HasSubstr("t/b: "));
    EXPECT_THAT(std::string(Message(status)), HasSubstr("hdb.tiers.cache"));
    EXPECT_TRUE(Scan(*a, 0, a->rows()).ok());
    EXPECT_LE(Counts().held_bytes, 8 * kMiB);
  }
  // The other query has ended.
  EXPECT_TRUE(Scan(*b, 0, b->rows()).ok());
  EXPECT_LE(Counts().held_bytes, 8 * kMiB);
}

TEST_F(ArchivedBytesTest, DamageIsAnErrorOfItsBlock) {
  MakeTable("t", {"a"}, 20 * kMiB);
  const auto column = Open("t/a");
  const std::string second = store_->Keys().at(1);
  store_->Change(second, [](std::string& bytes) { bytes[3 * kMiB] ^= 4; });
  const absl::Status status = Scan(*column, 0, column->rows());
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(Message(status)), HasSubstr("byte 11534336"));  // 8 MiB + 3 MiB.
  EXPECT_THAT(std::string(Message(status)), HasSubstr(second));
  EXPECT_TRUE(Scan(*column, 0, 1'000'000).ok());
  // The store has repaired it.
  store_->Change(second, [](std::string& bytes) { bytes[3 * kMiB] ^= 4; });
  EXPECT_TRUE(Scan(*column, 0, column->rows()).ok());
}

TEST_F(ArchivedBytesTest, ALostStoreIsAnErrorUntilItIsBack) {
  MakeTable("t", {"a"}, 20 * kMiB);
  const auto column = Open("t/a");
  ASSERT_TRUE(Scan(*column, 0, 100'000).ok());
  store_->SetHook([](std::string_view, const std::string& key) {
    return Unavailable("s3://test/{}: no route to host", key);
  });
  const absl::Status status = Scan(*column, 0, column->rows());
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(Message(status)), HasSubstr("no route to host"));
  EXPECT_TRUE(Scan(*column, 0, 100'000).ok());  // These are in the cache.
  store_->SetHook(nullptr);
  EXPECT_TRUE(Scan(*column, 0, column->rows()).ok());
}

TEST_F(ArchivedBytesTest, AWaitEndsWhenItsQueryDoes) {
  MakeTable("t", {"a"}, 20 * kMiB);
  const auto column = Open("t/a");
  store_->SetDelay(milliseconds(20'000));
  std::atomic<bool> is_cancelled = false;
  const auto check = [&] {
    return is_cancelled.load() ? ResourceExhausted("stop") : absl::OkStatus();
  };
  std::thread canceller([&] {
    std::this_thread::sleep_for(milliseconds(50));
    is_cancelled.store(true);
  });
  const auto begin = Clock::now();
  absl::Status status;
  {
    const WaitCheck ends(check);
    status = Scan(*column, 0, column->rows());
  }
  canceller.join();
  EXPECT_EQ(Message(status), "stop");
  EXPECT_LT(Clock::now() - begin, milliseconds(10'000));
  // The fetch was cancelled too, so its memory is free and its thread does other work.
  const auto until = Clock::now() + milliseconds(10'000);
  while (Counts().held_bytes > kChecksumBlockBytes && Clock::now() < until) {
    std::this_thread::yield();
  }
  EXPECT_EQ(Counts().held_bytes, kChecksumBlockBytes);  // The column's head.
  store_->SetDelay(milliseconds(0));
  EXPECT_TRUE(Scan(*column, 0, column->rows()).ok());
}

// Goal: threads that share columns and evict one another's get right rows or, if both need more
// than there is, the error of the limit. Method: a cache with room for two of four columns.
TEST_F(ArchivedBytesTest, ManyReadersShareTheCache) {
  ArchiveCache::Instance().Configure(9 * kMiB, 4);
  MakeTable("t", {"a", "b", "c", "d"}, 4 * kMiB);
  std::vector<std::shared_ptr<const ColumnFile>> columns;
  for (const char* const name : {"t/a", "t/b", "t/c", "t/d"}) columns.push_back(Open(name));
  std::atomic<int> scans = 0, limits = 0;
  std::vector<std::thread> readers;
  for (unsigned i = 0; i < 4; ++i) {
    readers.emplace_back([&, i] {
      unsigned random = i + 1;
      for (int round = 0; round < 30; ++round) {
        random = random * 1'103'515'245 + 12'345;
        const ColumnFile& column = *columns[random / 65'536 % columns.size()];
        const uint64_t begin = random / 1024 % (column.rows() / 2);
        const absl::Status status = Scan(column, begin, begin + column.rows() / 2, 8'192);
        if (status.ok()) {
          scans.fetch_add(1);
        } else {
          ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
          limits.fetch_add(1);
        }
        ASSERT_LE(Counts().held_bytes, 9 * kMiB);
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(scans.load(), 20);
  EXPECT_EQ(scans.load() + limits.load(), 120);
}

// Goal: a reader that waited for room plans anew, because others have planned blocks of its range
// meanwhile. Method: the room is that of a fetch ahead of another column, which hangs until a
// second reader has fetched the end of the first one's range.
TEST_F(ArchivedBytesTest, AReaderThatWaitedForRoomFetchesNoBlockTwice) {
  constexpr uint64_t kBlocks = 44;
  ArchiveCache::Instance().Configure(4 * kMiB, 4);
  MakeTable("t", {"a", "b"}, kBlocks * kChecksumBlockBytes - 16);
  const auto a = Open("t/a"), b = Open("t/b");
  const auto row_of = [](uint64_t block) { return (block * kChecksumBlockBytes - 16) / 8; };
  const PinnedBytes held = *a->ElementsInPlace();
  ASSERT_TRUE(Scan(*a, row_of(1), row_of(7)).ok());  // Opening it fetched the first block.
  std::atomic<bool> hangs = true, is_ahead = false;
  store_->SetHook([&](std::string_view, const std::string& key) {
    while (key.find("/0.") != std::string::npos && hangs.load()) {
      is_ahead.store(true);
      std::this_thread::sleep_for(milliseconds(1));
    }
    return absl::OkStatus();
  });
  a->WillRead({row_of(7), row_of(23)});
  while (!is_ahead.load()) std::this_thread::sleep_for(milliseconds(1));
  std::thread first([&] { EXPECT_TRUE(Scan(*b, 0, row_of(kBlocks), row_of(kBlocks)).ok()); });
  std::this_thread::sleep_for(milliseconds(50));
  const uint64_t half = row_of(20);
  EXPECT_TRUE(Scan(*b, half, row_of(kBlocks), row_of(kBlocks)).ok());
  hangs.store(false);
  first.join();
  EXPECT_EQ(Counts().held_bytes, (7 + kBlocks) * kChecksumBlockBytes);
}

TEST_F(ArchivedBytesTest, AnAnnouncedRangeIsFetchedAtOnce) {
  MakeTable("t", {"a"}, 20 * kMiB);
  const auto column = Open("t/a");
  const PinnedBytes held = *column->ElementsInPlace();
  store_->SetDelay(milliseconds(20));
  const uint64_t gets_before = store_->gets();
  column->WillRead({0, column->rows()});
  ASSERT_TRUE(Scan(*column, 0, column->rows()).ok());
  EXPECT_LT(store_->gets() - gets_before, 10u);
  EXPECT_GE(store_->running_max(), 3);
}

TEST_F(ArchivedBytesTest, AFileThatIsClosedFreesItsBlocks) {
  MakeTable("t", {"a"}, 4 * kMiB);
  {
    const auto column = Open("t/a");
    ASSERT_TRUE(Scan(*column, 0, column->rows()).ok());
    EXPECT_EQ(Counts().held_bytes, 4 * kMiB + 16);
  }
  EXPECT_EQ(Counts().held_bytes, 0u);
}

}  // namespace
}  // namespace tickstack::disk
