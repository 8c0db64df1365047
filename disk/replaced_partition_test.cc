// Readers and other writers of a partition while a merge puts a new version in its place.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/directory.h"
#include "base/file.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "disk/checksum_writer.h"
#include "disk/column_repair.h"
#include "disk/database.h"
#include "disk/database_check.h"
#include "disk/late_rows_testing.h"
#include "disk/partition_merge.h"
#include "disk/partition_migration.h"
#include "disk/partition_testing.h"

namespace tickstack::disk {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// Calls a function once, before a step of a kind whose path contains a text.
class AtStep : public StorageObserver {
 public:
  AtStep(StorageStep step, std::string path, std::function<void()> call)
      : step_(step), path_(std::move(path)), call_(std::move(call)) {}
  absl::Status Before(StorageStep step, const std::string& path, size_t) override {
    if (step == step_ && call_ && path.find(path_) != path.npos) std::exchange(call_, nullptr)();
    return absl::OkStatus();
  }
  bool was_called() const { return call_ == nullptr; }

 private:
  const StorageStep step_;
  const std::string path_;
  std::function<void()> call_;
};

class ReplacedPartitionTest : public DayWithLateRows {
 protected:
  std::string Replaced() const { return db() + "/replaced.2024.01.29.0$"; }
  static ColumnChange Renamed(const std::string& from, const std::string& to) {
    ColumnChange change;
    change.kind = ColumnChange::Kind::kRename;
    change.column = from;
    change.new_name = to;
    return change;
  }
  static ColumnChange Added() {
    ColumnChange change;
    change.column = "currency";
    change.type = Type::kSymbol;
    change.value = Value::Symbol("USD");
    return change;
  }
  absl::StatusOr<Migration> Migrate(const ColumnChange& change,
                                    StorageObserver* observer = nullptr) const {
    MigrationOptions options;
    options.database = db();
    options.observer = observer;
    return MigrateTable(options, "trade", change);
  }
};

TEST_F(ReplacedPartitionTest, AReaderNeverMixesTheTablesOfTwoVersions) {
  const auto reader = *Database::Open(db());
  const auto touched = *Database::Open(db());
  ASSERT_TRUE(Look(*touched).ok());
  ASSERT_TRUE(Merge().ok());
  fs::remove_all(Replaced());  // An operator needs the room.
  const absl::Status opened = reader->FindPartitioned("trade_count")->In(0).status();
  EXPECT_EQ(opened.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(Message(opened)), HasSubstr("2024.01.29: another directory has taken"));
  EXPECT_EQ(*Look(*touched), kSeenBefore);
  // A partition that is not there is reported as such.
  fs::remove_all(day());
  EXPECT_THAT(std::string(Message(reader->FindPartitioned("trade_count")->In(0).status())),
              HasSubstr("it was moved or unmounted"));
}

// Goal: a check finds no damage in a partition that is replaced, or whose column is renamed, while
// it is read. Method: a change before each column of each table.
TEST_F(ReplacedPartitionTest, ACheckFindsNoDamageMeanwhile) {
  const std::vector<std::function<absl::Status()>> changes = {
      [this] { return Merge().status(); },
      [this] { return Migrate(Renamed("note", "remark")).status(); }};
  for (const auto& change : changes) {
    for (int at = 0;; ++at) {
      SCOPED_TRACE(at);
      WriteOld();
      WorkerPool none(0);
      int left = at;
      const auto check = CheckPartition(db(), day(), none, [&] {
        if (left-- == 0) {
          EXPECT_TRUE(change().ok());
        }
        return false;
      });
      ASSERT_TRUE(check.ok()) << check.status();
      EXPECT_TRUE(check->is_sound())
          << check->findings.front().path << ": " << check->findings.front().what;
      if (left < 0) continue;
      EXPECT_GT(at, 10);
      break;
    }
  }
}

// Damage is still found, although it is looked for again.
TEST_F(ReplacedPartitionTest, ACheckFindsDamageOfTheNewVersion) {
  WorkerPool none(0);
  int left = 2;
  const auto check = CheckPartition(db(), day(), none, [&] {
    if (left-- == 0) {
      EXPECT_TRUE(Merge().ok());
      std::string bytes = FileBytes(day() + "/trade/size");
      bytes.back() ^= 1;
      PutFile(day() + "/trade/size", bytes);
    }
    return false;
  });
  ASSERT_TRUE(check.ok()) << check.status();
  ASSERT_EQ(check->findings.size(), 1u);
  EXPECT_EQ(check->findings[0].path, day() + "/trade/size");
}

TEST_F(ReplacedPartitionTest, ChecksumsOfTheOldVersionAreNotWrittenIntoTheNewOne) {
  for (const StorageStep step : {StorageStep::kCreate, StorageStep::kSync, StorageStep::kRename}) {
    WriteOld();
    fs::remove(day() + "/trade/.checksums");
    AtStep merging(step, "2024.01.29/trade/.checksums", [this] { ASSERT_TRUE(Merge().ok()); });
    WorkerPool none(0);
    const auto written = WriteChecksums(db(), {.workers = &none}, Storage(&merging));
    ASSERT_TRUE(written.ok()) << written.status();
    EXPECT_TRUE(merging.was_called());
    ASSERT_EQ(written->errors.size(), 1u);
    EXPECT_THAT(written->errors[0], HasSubstr("2024.01.29/trade"));
    EXPECT_EQ(SeenNow(), kSeenAfter);
    ExpectSound();
  }
}

// It renames the column's files into the partition.
TEST_F(ReplacedPartitionTest, ARepairHoldsTheLockOfTheDatabase) {
  DayTables rows;
  rows.AddTicks("trade", kOld);
  std::string damaged = FileBytes(day() + "/trade/size");
  damaged.back() ^= 1;
  PutFile(day() + "/trade/size", damaged);
  AtStep merging(StorageStep::kRename, "/trade/size",
                 [this] { EXPECT_TRUE(absl::IsUnavailable(Merge().status())); });
  PartitionWriterOptions options;
  options.database = db();
  options.observer = &merging;
  const auto repaired = RepairColumn(options, kDate, rows.Snapshots()[0], "size");
  ASSERT_TRUE(repaired.ok()) << repaired.status();
  EXPECT_TRUE(merging.was_called());
  ExpectSound();
}

// ---- durability

// Follows what is not synced. Renames of files and directories take their names along.
class Unsynced : public StorageObserver {
 public:
  // `has_links`: false for a file system without hard links.
  explicit Unsynced(std::string root, bool has_links = true)
      : root_(std::move(root)), has_links_(has_links) {}
  absl::Status Before(StorageStep step, const std::string& path, size_t) override {
    switch (step) {
      case StorageStep::kWrite:
      case StorageStep::kTruncate:
        files_.insert(path);
        break;
      case StorageStep::kCreate:
        files_.insert(path);
        directories_.insert(DirectoryOf(path));
        break;
      case StorageStep::kSync:
        files_.erase(path);
        break;
      case StorageStep::kSyncDirectory:
        directories_.erase(path);
        break;
      case StorageStep::kLink:
        if (!has_links_) return Internal("{}: no links", path);
        directories_.insert(DirectoryOf(path));
        break;
      case StorageStep::kMakeDirectory:
        directories_.insert(DirectoryOf(path));
        break;
      case StorageStep::kRename:
        // A version that takes its name, and a file that replaces another, must be whole.
        ExpectFilesSynced(path);
        if (DirectoryOf(path) == root_) ExpectOnlySegmentUnsynced(path);
        if (std::exchange(is_exchanged_, false)) {
          EXPECT_THAT(directories_, testing::IsEmpty()) << path;
        }
        directories_.insert(DirectoryOf(path));
        break;
      case StorageStep::kExchange:
        if (path.ends_with("/writing.other$")) break;  // A trial, with empty directories.
        ++exchanges_;
        is_exchanged_ = true;
        ExpectFilesSynced(path);
        EXPECT_THAT(directories_, testing::IsEmpty()) << "exchange of " << path;
        directories_.insert(DirectoryOf(path));
        break;
      case StorageStep::kRemove:
        break;
    }
    return absl::OkStatus();
  }
  void ExpectAllSynced() {
    ExpectFilesSynced("end");
    EXPECT_THAT(directories_, testing::IsEmpty());
  }
  int exchanges() const { return exchanges_; }

 private:
  void ExpectFilesSynced(const std::string& path) const {
    EXPECT_THAT(files_, testing::IsEmpty()) << path;
  }
  void ExpectOnlySegmentUnsynced(const std::string& path) const {
    for (const std::string& each : directories_) EXPECT_EQ(each, root_) << path;
  }

  const std::string root_;
  const bool has_links_;
  std::set<std::string> files_, directories_;
  int exchanges_ = 0;
  bool is_exchanged_ = false;  // True until the replaced version gets its name.
};

// Goal: a power cut leaves no version in effect of which a file is missing. Method: at each rename
// and exchange, everything that was made before is synced.
TEST_F(ReplacedPartitionTest, AVersionIsSyncedBeforeItTakesEffect) {
  for (const bool has_links : {false, true}) {
    WriteOld();
    Unsynced merge(db(), has_links);
    ASSERT_TRUE(Merge(&merge).ok());
    EXPECT_EQ(merge.exchanges(), 1);
    merge.ExpectAllSynced();
  }
  Unsynced undo(db());
  ASSERT_TRUE(UndoMerge(db(), kDate, Storage(&undo)).ok());
  EXPECT_EQ(undo.exchanges(), 1);
  undo.ExpectAllSynced();
  for (const bool makes_column : {false, true}) {
    Unsynced migration(db());
    ASSERT_TRUE(Migrate(makes_column ? Added() : Renamed("note", "remark"), &migration).ok());
    EXPECT_EQ(migration.exchanges(), 2);
    migration.ExpectAllSynced();
  }
}

// ---- threads

// Goal: whenever a reader opens the database, it sees one version, and a check finds no damage.
// Method: both run while another thread merges rows and takes them back. A check cannot tell that
// two exchanges have brought the first version back, so its result counts if there was one at most.
TEST_F(ReplacedPartitionTest, ReadersSeeOneVersionWhileOthersTakeItsPlace) {
  constexpr int kRounds = 25;
  std::atomic<bool> is_over = false;
  std::atomic<int> begun = 0, ended = 0;  // Exchanges.
  std::thread reader([&] {
    while (!is_over) {
      const auto database = Database::Open(db());
      ASSERT_TRUE(database.ok()) << database.status();
      const absl::StatusOr<SeenDay> seen = Look(**database);
      if (seen.ok()) {
        EXPECT_TRUE(*seen == kSeenBefore || *seen == kSeenAfter)
            << testing::PrintToString(seen->trades) << seen->counted;
      } else {  // A merge has removed the version that the one before it had undone.
        EXPECT_TRUE(absl::IsUnavailable(seen.status()) || absl::IsNotFound(seen.status()))
            << seen.status();
      }
    }
  });
  std::thread checker([&] {
    WorkerPool none(0);
    while (!is_over) {
      const int before = ended;
      const auto check = CheckPartition(db(), day(), none, [] { return false; });
      ASSERT_TRUE(check.ok()) << check.status();
      EXPECT_TRUE(check->is_sound() || begun - before > 1)
          << check->findings.front().path << ": " << check->findings.front().what;
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    ++begun;
    EXPECT_TRUE(Merge().ok());
    ++ended;
    ++begun;
    EXPECT_TRUE(UndoMerge(db(), kDate, Storage()).ok());
    ++ended;
  }
  is_over = true;
  reader.join();
  checker.join();
}

}  // namespace
}  // namespace tickstack::disk
