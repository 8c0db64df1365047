#include "disk/partition_merge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "disk/compression.h"
#include "disk/database.h"
#include "disk/database_check.h"
#include "disk/late_rows_testing.h"
#include "disk/partition_testing.h"
#include "disk/symbol_file_writer.h"
#include "mem/tier.h"
#include "table/batch_testing.h"
#include "table/symbols.h"

namespace tickstack::disk {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::vector<std::string> TextsOf(const std::vector<DayTick>& ticks) {
  std::vector<std::string> texts;
  for (const DayTick& tick : ticks) texts.push_back(tick.text());
  return texts;
}

// The order of a partition.
std::vector<DayTick> Sorted(std::vector<DayTick> ticks) {
  std::ranges::stable_sort(ticks, [](const DayTick& a, const DayTick& b) {
    return std::tie(a.sym, a.time) < std::tie(b.sym, b.time);
  });
  return ticks;
}

class PartitionMergeTest : public DayWithLateRows {};

TEST_F(PartitionMergeTest, AddsLateRowsAndKeepsTheOldVersion) {
  const absl::StatusOr<MergedPartition> merged = Merge();
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->version, 1u);
  EXPECT_EQ(merged->replaced, db() + "/replaced.2024.01.29.0$");
  EXPECT_EQ(merged->new_names, 1);
  ASSERT_EQ(merged->tables.size(), 2u);
  EXPECT_EQ(merged->tables[0].rows.added, 2u);
  EXPECT_TRUE(merged->tables[1].derived);
  EXPECT_EQ(SeenNow(), kSeenAfter);
  ExpectSound();
  EXPECT_THAT(Entries(), ElementsAre("2024.01.29", "replaced.2024.01.29.0$"));
  EXPECT_EQ(*RowsBeforeRevisions(day() + "/trade", 6), 4u);
  EXPECT_EQ(*RowsBeforeRevisions(day() + "/quote", 4), 4u);
  // The symbols are parted, and the checksums are those of the files.
  EXPECT_EQ(FileBytes(day() + "/trade/sym")[4083], 3);
  EXPECT_TRUE(*FileExists(day() + "/trade/.checksums"));
}

// So a command that was killed can be repeated without adding rows twice.
TEST_F(PartitionMergeTest, MergesTheSameRowsOnce) {
  ASSERT_TRUE(Merge().ok());
  const absl::StatusOr<MergedPartition> second = Merge();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(second->already);
  EXPECT_EQ(second->version, 1u);
  EXPECT_EQ(SeenNow(), kSeenAfter);
  MergeOptions again = Options();
  again.again = true;
  EXPECT_EQ(MergePartition(again, kDate, late_->Late())->version, 2u);
  EXPECT_EQ(SeenNow().counted, 8);
  EXPECT_EQ(*RowsBeforeRevisions(day() + "/trade", 8), 4u);
}

TEST_F(PartitionMergeTest, ATableThatLacksTheRowsOfASourceGetsThem) {
  ASSERT_TRUE(Merge().ok());
  DayTables both;
  both.AddTicks("trade", kLate);
  both.AddTicks("quote", kLate);
  const absl::StatusOr<MergedPartition> merged = MergePartition(Options(), kDate, both.Late());
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_FALSE(merged->already);
  EXPECT_EQ(merged->version, 2u);
  EXPECT_EQ(SeenNow(), kSeenAfter);
  EXPECT_EQ(FixedColumn<int64_t>(day() + "/quote/size").size(), 6u);
}

TEST_F(PartitionMergeTest, ATableMadeFromTicksMustHaveTheStoredColumns) {
  MergeOptions options = Options();
  options.derive = [](std::span<const Snapshot>, std::span<const std::string>,
                      MergeMemory memory) -> absl::StatusOr<std::vector<std::shared_ptr<Table>>> {
    return std::vector<std::shared_ptr<Table>>{*Table::Create(
        *ParseSchema("trade_count", "sym s, rows i"), memory.symbols, {memory.tier, {}, nullptr})};
  };
  const absl::Status status = MergePartition(options, kDate, late_->Late()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("trade_count/rows: has type long, its"));
  EXPECT_EQ(SeenNow(), kSeenBefore);
}

TEST_F(PartitionMergeTest, ADryRunChangesNothing) {
  MergeOptions options = Options();
  options.dry_run = true;
  const absl::StatusOr<MergedPartition> merged = MergePartition(options, kDate, late_->Late());
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->tables[0].rows.after, 6u);
  EXPECT_EQ(SeenNow(), kSeenBefore);
  EXPECT_THAT(Entries(), ElementsAre("2024.01.29"));
  EXPECT_THAT(Names(db() + "/sym"), ElementsAre("IBM", "AAPL", "all"));
}

// Goal: whenever the process dies, readers see the old version or the new one, in all of its
// tables, and the same command then gives the new one, once. A database that was opened before
// still answers from the old version, also from columns and tables that it had not opened yet.
TEST_F(PartitionMergeTest, IsOldOrNewWhereverItIsKilled) {
  StepKiller counting(SIZE_MAX);
  ASSERT_TRUE(Merge(&counting).ok());
  const size_t steps = SIZE_MAX - counting.left();
  ASSERT_GT(steps, 40u);
  size_t old_versions = 0;
  for (size_t at = 0; at < steps; ++at) {
    SCOPED_TRACE(at);
    WriteOld();
    const auto untouched = *Database::Open(db());
    const auto touched = *Database::Open(db());
    ASSERT_TRUE((*touched->FindPartitioned("trade")->In(0))->Column(0).ok());
    StepKiller killer(at);
    EXPECT_FALSE(Merge(&killer).ok());
    EXPECT_EQ(*Look(*touched), kSeenBefore);
    const SeenDay seen = SeenNow();
    EXPECT_TRUE(seen == kSeenBefore || seen == kSeenAfter) << testing::PrintToString(seen.trades);
    old_versions += seen == kSeenBefore ? 1 : 0;
    const absl::StatusOr<MergedPartition> again = Merge();
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->already, seen == kSeenAfter);
    EXPECT_EQ(SeenNow(), kSeenAfter);
    EXPECT_THAT(Entries(), ElementsAre("2024.01.29", "replaced.2024.01.29.0$"));
    ExpectSound();
    const absl::StatusOr<SeenDay> untouched_sees = Look(*untouched);
    ASSERT_TRUE(untouched_sees.ok()) << untouched_sees.status();
    EXPECT_EQ(*untouched_sees, kSeenBefore);
  }
  EXPECT_GT(old_versions, steps / 2);
  EXPECT_LT(old_versions, steps);
}

TEST_F(PartitionMergeTest, AnInterruptedMergeIsReported) {
  StepKiller counting(SIZE_MAX);
  ASSERT_TRUE(Merge(&counting).ok());
  WriteOld();
  // The last step is the sync after the last rename.
  StepKiller killer(SIZE_MAX - counting.left() - 2);
  ASSERT_FALSE(Merge(&killer).ok());
  const auto database = *Database::Open(db());
  ASSERT_EQ(database->problems().size(), 1u);
  EXPECT_THAT(database->problems()[0], HasSubstr("revised.2024.01.29.1$: of a merge"));
  EXPECT_EQ(FinishMerge(db(), kDate, Storage())->size(), 1u);
  EXPECT_TRUE((*Database::Open(db()))->problems().empty());
}

TEST_F(PartitionMergeTest, AnUndoIsOldOrNewWhereverItIsKilled) {
  for (size_t at = 0;; ++at) {
    SCOPED_TRACE(at);
    WriteOld();
    ASSERT_TRUE(Merge().ok());
    const auto reader = *Database::Open(db());
    StepKiller killer(at);
    const absl::StatusOr<UndoneVersion> undone = UndoMerge(db(), kDate, Storage(&killer));
    EXPECT_EQ(*Look(*reader), kSeenAfter);
    const SeenDay seen = SeenNow();
    EXPECT_TRUE(seen == kSeenBefore || seen == kSeenAfter);
    if (undone.ok()) {
      EXPECT_EQ(undone->number, 0u);
      EXPECT_EQ(seen, kSeenBefore);
      EXPECT_THAT(Entries(), ElementsAre("2024.01.29", "undone.2024.01.29.1$"));
      ASSERT_GT(at, 2u);
      break;
    }
    ASSERT_TRUE(FinishMerge(db(), kDate, Storage()).ok());
    EXPECT_THAT(Entries(),
                ElementsAre("2024.01.29", seen == kSeenBefore ? "undone.2024.01.29.1$"
                                                              : "replaced.2024.01.29.0$"));
    ExpectSound();
  }
  EXPECT_EQ(UndoMerge(db(), kDate, Storage()).status().code(), absl::StatusCode::kNotFound);
  // The rows can be merged again.
  EXPECT_FALSE(Merge()->already);
  EXPECT_EQ(SeenNow(), kSeenAfter);
}

uint64_t InodeAt(const std::string& path) {
  struct stat status{};
  TS_CHECK(::stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

TEST_F(PartitionMergeTest, TablesThatDoNotChangeAreLinksOrElseCopies) {
  uint64_t inode = InodeAt(day() + "/quote/size");
  ASSERT_TRUE(Merge().ok());
  EXPECT_EQ(InodeAt(day() + "/quote/size"), inode);
  WriteOld();
  inode = InodeAt(day() + "/quote/size");
  RefusingStep no_links(StorageStep::kLink, absl::InternalError("not supported"));
  ASSERT_TRUE(Merge(&no_links).ok());
  EXPECT_NE(InodeAt(day() + "/quote/size"), inode);
  EXPECT_EQ(SeenNow(), kSeenAfter);
  ExpectSound();
}

TEST_F(PartitionMergeTest, IsRefusedWhereDirectoriesCannotBeExchanged) {
  RefusingStep refusing(StorageStep::kExchange, FailedPrecondition("cannot exchange"));
  EXPECT_EQ(Merge(&refusing).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(SeenNow(), kSeenBefore);
  EXPECT_THAT(Entries(), ElementsAre("2024.01.29"));
}

// A database without checksums, in which a correction keeps the number of rows: a mixture of the
// old and the new columns would be a wrong answer.
TEST_F(PartitionMergeTest, AReaderNeverMixesVersions) {
  fs::remove(day() + "/trade/.checksums");
  const auto reader = *Database::Open(db());
  ASSERT_TRUE((*reader->FindPartitioned("trade")->In(0))->Column(0).ok());
  ASSERT_TRUE(Merge().ok());
  fs::remove_all(db() + "/replaced.2024.01.29.0$");  // An operator needs the room.
  const absl::StatusOr<SeenDay> seen = Look(*reader);
  EXPECT_EQ(seen.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(Message(seen.status())), HasSubstr("reload the database"));
}

TEST_F(PartitionMergeTest, NamesWhatDoesNotFit) {
  const auto refused = [&](std::string_view columns, const std::function<void(DayTables&)>& fill,
                           const std::function<void(MergeOptions&)>& change = {}) {
    DayTables process;
    if (fill) {
      fill(process);
    } else {
      process.AddTicks("trade", {{kDayNs, "A", 1}}, columns);
    }
    MergeOptions options = Options();
    if (change) change(options);
    const absl::Status status = MergePartition(options, kDate, process.Late()).status();
    return std::string(Message(status));
  };
  EXPECT_THAT(refused("time p, sym s, sizes j, note *", {}), HasSubstr("lack column size"));
  EXPECT_THAT(refused("stamp p, sym s, time j, note *", {}),
              HasSubstr("column time of the rows has type long, expected timestamp"));
  EXPECT_THAT(refused("", [](DayTables& process) { process.AddTicks("fills", kLate); }),
              HasSubstr("fills: no such table in the partition"));
  EXPECT_THAT(refused("",
                      [](DayTables& process) {
                        process.AddTicks("trade", {{kDayNs - 1, "A", 1}, {kDayNs, "A", 2}});
                      }),
              HasSubstr("the times of 1 of 2 rows are on other dates than 2024.01.29, such as "
                        "2024.01.28"));
  EXPECT_THAT(refused(kTicks, {}, [](MergeOptions& options) { options.keys = {"price"}; }),
              HasSubstr("no column price for a key"));
  EXPECT_THAT(refused(kTicks, {}, [](MergeOptions& options) { options.keys = {"note"}; }),
              HasSubstr("nested"));
  EXPECT_THAT(std::string(Message(MergePartition(Options(), kDate + 2, late_->Late()).status())),
              HasSubstr("no partition 2024.01.31"));
  EXPECT_EQ(SeenNow(), kSeenBefore);
  EXPECT_THAT(Entries(), ElementsAre("2024.01.29"));
}

// A partition of kdb+ may have attributes and domains that the writer does not give.
TEST_F(PartitionMergeTest, WhatTheWriterCannotKeepIsNamed) {
  const auto refused = [this](const std::string& column, size_t byte, const std::string& changed) {
    WriteOld();
    fs::copy(db() + "/sym", db() + "/src");
    fs::remove(day() + "/trade/.checksums");
    std::string bytes = FileBytes(day() + "/trade/" + column);
    bytes.replace(byte, changed.size(), changed);
    PutFile(day() + "/trade/" + column, bytes);
    const absl::Status status = Merge().status();
    EXPECT_EQ(SeenNow(), kSeenBefore);
    EXPECT_THAT(Entries(), ElementsAre("2024.01.29"));
    return status.ok() ? "" : std::string(Message(status));
  };
  constexpr size_t kOfVector = 3, kOfEnum = 4083;
  EXPECT_THAT(refused("size", kOfVector, "\1"), HasSubstr("trade/size: has the attribute s#"));
  EXPECT_THAT(refused("size", kOfVector, "\4"), HasSubstr("trade/size: has the attribute g#"));
  EXPECT_THAT(refused("time", kOfVector, "\2"), HasSubstr("trade/time: has the attribute u#"));
  EXPECT_THAT(refused("sym", kOfEnum, "\4"), HasSubstr("trade/sym: has the attribute g#"));
  EXPECT_THAT(refused("sym", 16, "src"), HasSubstr("trade/sym: its symbols are in the domain src"));
}

// kdb+ finds a prevailing row by bisection: late rows must not be behind later ones.
TEST_F(PartitionMergeTest, TimesByWhichTheWriterDoesNotOrderAreNamed) {
  for (const std::string_view columns : {"time t, size i", "time t, sym s, size i"}) {
    fs::remove_all(db());
    DayTables old, late;
    for (DayTables* const each : {&old, &late}) {
      Batch batch(1);
      const std::vector<int32_t> numbers = {each == &old ? 20 : 10};
      batch.Add(Type::kTime, numbers);
      if (columns.find("sym") != columns.npos) batch.AddSymbols({"IBM"});
      batch.Add(Type::kInt, numbers);
      ASSERT_TRUE(each->Make("trade", columns)->Append(batch.view()).ok());
    }
    const std::vector<Snapshot> snapshots = old.Snapshots();
    ASSERT_TRUE(WritePartition({.database = db(), .compression = {}}, kDate, snapshots).ok());
    const absl::Status status = MergePartition(Options(), kDate, late.Late()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(Message(status)), HasSubstr("trade/time: has type time, by which"));
  }
}

// kdb+ shows columns in the order of the newest partition's `.d`.
TEST_F(PartitionMergeTest, KeepsTheOrderOfColumns) {
  const std::vector<std::string> order = {"time", "sym", "size", "note"};
  std::string names("\xff\x01\x0b\0\4\0\0\0", 8);
  for (const std::string& name : order) names += name + '\0';
  fs::remove(day() + "/trade/.checksums");
  PutFile(day() + "/trade/.d", names);
  ASSERT_TRUE(Merge().ok());
  EXPECT_EQ(Names(day() + "/trade/.d"), order);
  EXPECT_EQ(Names(day() + "/trade_count/.d"), (std::vector<std::string>{"sym", "rows"}));
  EXPECT_EQ(SeenNow(), kSeenAfter);
  ExpectSound();
}

TEST_F(PartitionMergeTest, ALinkedTableIsNamed) {
  fs::rename(day() + "/quote", folder_ / "quote");
  fs::create_directory_symlink(folder_ / "quote", day() + "/quote");
  EXPECT_THAT(std::string(Message(Merge().status())), HasSubstr("quote: a symbolic link"));
  EXPECT_THAT(Entries(), ElementsAre("2024.01.29"));
}

TEST_F(PartitionMergeTest, ADamagedRecordOfRevisionsIsNamed) {
  ASSERT_TRUE(Merge().ok());
  const std::string path = day() + "/trade/.revisions";
  const std::string whole = FileBytes(path);
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    PutFile(path, damaged);
    EXPECT_EQ(ReadRevisions(day() + "/trade").status().code(), absl::StatusCode::kDataLoss) << bit;
  }
  EXPECT_THAT(std::string(Message(Merge().status())), HasSubstr(".revisions: line 1"));
  WorkerPool none(0);
  EXPECT_EQ(CheckDatabase(db(), none)->findings.at(0).path, path);
}

TEST_F(PartitionMergeTest, OneProcessWritesAtATime) {
  const absl::StatusOr<File> lock = LockDatabase(db());
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_TRUE(absl::IsUnavailable(Merge().status()));
  EXPECT_TRUE(absl::IsUnavailable(UndoMerge(db(), kDate, Storage()).status()));
  EXPECT_EQ(SeenNow(), kSeenBefore);
}

TEST_F(PartitionMergeTest, APartitionInASegmentStaysThere) {
  fs::create_directories(db() + "/one");
  fs::rename(day(), db() + "/one/2024.01.29");
  PutFile(db() + "/par.txt", "one\n");
  ASSERT_TRUE(Merge().ok());
  EXPECT_EQ(SeenNow(), kSeenAfter);
  EXPECT_TRUE(*FileExists(db() + "/one/replaced.2024.01.29.0$"));
  fs::rename(db() + "/one/2024.01.29", db() + "/elsewhere$");
  fs::create_directory_symlink("../elsewhere$", db() + "/one/2024.01.29");
  MergeOptions again = Options();
  again.again = true;
  EXPECT_THAT(std::string(Message(MergePartition(again, kDate, late_->Late()).status())),
              HasSubstr("symbolic link"));
}

// ---- equality with a partition of all rows

std::vector<DayTick> RandomTicks(std::mt19937_64& rng, size_t count) {
  const std::vector<std::string> names = {"IBM", "AAPL", "", "MSFT", "a", "Z"};
  std::vector<DayTick> ticks;
  for (size_t i = 0; i < count; ++i) {
    ticks.push_back({kDayNs + static_cast<int64_t>(rng() % 40), names[rng() % names.size()],
                     static_cast<int64_t>(rng() % 1000)});
  }
  return ticks;
}

std::map<std::string, std::string> FilesOf(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& each : fs::directory_iterator(directory)) {
    const std::string name = each.path().filename();
    if (name != kRevisionsName) files[name] = FileBytes(each.path());
  }
  return files;
}

// Goal: a merge gives the files that a day with all of its rows would have had, byte for byte, also
// their checksums. Method: random ticks with equal times, of which the last ones are late, merged
// in one or two steps, in each compression.
TEST(PartitionMerge, GivesTheFilesOfADayWithAllRows) {
  for (uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const std::vector<std::string> ways = {"none", "gzip-1", "zstd-1", "ipc"};
    CompressionRules rules;
    rules.Set("default", *ParseCompression(ways[seed % ways.size()]));
    rules.Set("size", *ParseCompression("none"));
    const TemporaryFolder folder(TemporaryFolder::InMemory());
    std::vector<DayTick> all = RandomTicks(rng, rng() % 300);
    DayTables old;
    old.AddTicks("trade", all);
    const std::vector<Snapshot> snapshots = old.Snapshots();
    ASSERT_TRUE(
        WritePartition({.database = folder / "a", .compression = rules}, kDate, snapshots).ok());
    for (uint32_t merge = 0; merge <= seed % 2; ++merge) {
      const std::vector<DayTick> late = RandomTicks(rng, 1 + rng() % 100);
      all.insert(all.end(), late.begin(), late.end());
      DayTables process;
      process.AddTicks("trade", late);
      MergeOptions options;
      options.writer.database = folder / "a";
      options.source = {merge, 1, ""};
      const auto merged = MergePartition(options, kDate, process.Late());
      ASSERT_TRUE(merged.ok()) << merged.status();
    }
    DayTables whole;
    whole.AddTicks("trade", all);
    fs::create_directories(folder / "b");
    fs::copy(folder / "a/sym", folder / "b/sym");
    const std::vector<Snapshot> all_rows = whole.Snapshots();
    ASSERT_TRUE(
        WritePartition({.database = folder / "b", .compression = rules}, kDate, all_rows).ok());
    const auto found = FilesOf(folder / "a/2024.01.29/trade");
    const auto expected = FilesOf(folder / "b/2024.01.29/trade");
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, bytes] : expected) {
      EXPECT_TRUE(found.contains(name) && found.at(name) == bytes) << name;
    }
  }
}

// The definition of corrections, written slowly.
std::vector<DayTick> Corrected(std::vector<DayTick> rows, const std::vector<DayTick>& late,
                               const std::function<bool(const DayTick&, const DayTick&)>& same) {
  std::vector<DayTick> last;  // Of late rows with the same key, the last.
  for (const DayTick& each : late) {
    std::erase_if(last, [&](const DayTick& other) { return same(other, each); });
    last.push_back(each);
  }
  for (const DayTick& each : last) {
    const auto first =
        std::ranges::find_if(rows, [&](const DayTick& row) { return same(row, each); });
    if (first == rows.end()) {
      rows.push_back(each);
      continue;
    }
    const auto place = first - rows.begin();
    std::vector<DayTick> kept(rows.begin(), first);
    for (auto row = first + 1; row != rows.end(); ++row) {
      if (!same(*row, each)) kept.push_back(*row);
    }
    rows = std::move(kept);
    rows.insert(rows.begin() + place, each);
  }
  return rows;
}

TEST(PartitionMerge, CorrectsRowsByTheirKey) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const TemporaryFolder folder(TemporaryFolder::InMemory());
    const std::vector<DayTick> rows = RandomTicks(rng, rng() % 200);
    const std::vector<DayTick> late = RandomTicks(rng, 1 + rng() % 60);
    DayTables old, process;
    old.AddTicks("trade", rows);
    process.AddTicks("trade", late);
    const std::vector<Snapshot> snapshots = old.Snapshots();
    ASSERT_TRUE(
        WritePartition({.database = folder / "db", .compression = {}}, kDate, snapshots).ok());
    MergeOptions options;
    options.writer.database = folder / "db";
    options.keys = seed % 2 == 0 ? std::vector<std::string>{"sym", "time"}
                                 : std::vector<std::string>{"time", "size"};
    const absl::StatusOr<MergedPartition> merged = MergePartition(options, kDate, process.Late());
    ASSERT_TRUE(merged.ok()) << merged.status();
    const auto same = [&](const DayTick& a, const DayTick& b) {
      return a.time == b.time && (seed % 2 == 0 ? a.sym == b.sym : a.size == b.size);
    };
    const std::vector<std::string> expected = TextsOf(Sorted(Corrected(Sorted(rows), late, same)));
    const std::string table = folder / "db/2024.01.29/trade/";
    const auto times = FixedColumn<int64_t>(table + "time");
    const auto syms = SymbolColumn(table + "sym", folder / "db/sym");
    const auto sizes = FixedColumn<int64_t>(table + "size");
    std::vector<std::string> found;
    for (size_t i = 0; i < times.size(); ++i) {
      found.push_back(DayTick{times[i], syms[i], sizes[i]}.text());
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(merged->tables[0].rows.after, expected.size());
  }
}

}  // namespace
}  // namespace tickstack::disk
