#include "disk/table_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/byte_buffer.h"
#include "base/file.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "disk/archive_marker.h"
#include "disk/checksum_writer.h"
#include "disk/database.h"
#include "disk/database_check.h"
#include "disk/late_rows_testing.h"
#include "disk/object_store_testing.h"
#include "disk/partition_merge.h"
#include "disk/partition_migration.h"
#include "disk/partition_testing.h"
#include "disk/segment_moves.h"

namespace tickstack::disk {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
namespace fs = std::filesystem;

// Names and contents of the files in a directory.
using DirectoryContent = std::map<std::string, std::string>;

DirectoryContent ContentOf(const std::string& directory) {
  DirectoryContent content;
  for (const fs::directory_entry& each : fs::directory_iterator(directory)) {
    content[each.path().filename().string()] = FileBytes(each.path().string());
  }
  return content;
}

class TableArchiveTest : public DayWithLateRows {
 protected:
  std::string trade() const { return day() + "/trade"; }
  ArchiveOptions Options(StorageObserver* observer = nullptr) const {
    ArchiveOptions options;
    options.store = store_.shared();
    options.prefix = "stack";
    options.keep_bytes = 0;
    options.object_bytes = kChecksumBlockBytes;
    options.observer = observer;
    return options;
  }
  absl::Status Archive(StorageObserver* observer = nullptr) const {
    return ArchiveTable(trade(), Options(observer)).status();
  }
  absl::Status Recall(StorageObserver* observer = nullptr) const {
    return RecallTable(trade(), Options(observer)).status();
  }
  static size_t ObjectsOf(const ArchiveMarker& marker) {
    size_t objects = 0;
    for (const ArchivedFile& file : marker.files) {
      objects += (file.bytes + marker.object_bytes - 1) / marker.object_bytes;
    }
    return objects;
  }

  const StoreOfTest store_;
};

TEST_F(TableArchiveTest, AnArchivedTableGivesTheSameAnswersAndComesBackAsItWas) {
  const DirectoryContent before = ContentOf(trade());
  const absl::StatusOr<ArchivedTable> archived = ArchiveTable(trade(), Options());
  ASSERT_TRUE(archived.ok()) << archived.status();
  EXPECT_EQ(archived->files, before.size() - 2);  // Without .d and .checksums.
  const DirectoryContent during = ContentOf(trade());
  EXPECT_THAT(during, SizeIs(3));
  EXPECT_EQ(during.at(".d"), before.at(".d"));
  EXPECT_EQ(during.at(".checksums"), before.at(".checksums"));
  const auto marker = *ReadArchiveMarker(trade(), kArchivedName);
  ASSERT_TRUE(marker.has_value());
  EXPECT_THAT(store_->Keys(), SizeIs(ObjectsOf(*marker)));
  EXPECT_THAT(marker->objects, testing::StartsWith("stack/2024.01.29/trade/"));
  EXPECT_EQ(SeenNow(), kSeenBefore);
  ExpectSound();
  // Again: nothing to do.
  EXPECT_FALSE(ArchiveTable(trade(), Options())->has_changed);

  const absl::StatusOr<RecalledTable> recalled = RecallTable(trade(), Options());
  ASSERT_TRUE(recalled.ok()) << recalled.status();
  EXPECT_EQ(recalled->files, marker->files.size());
  EXPECT_EQ(recalled->objects, marker->objects);
  EXPECT_EQ(ContentOf(trade()), before);
  EXPECT_THAT(store_->Keys(), SizeIs(ObjectsOf(*marker))) << "objects are never removed";
  EXPECT_EQ(SeenNow(), kSeenBefore);
  EXPECT_THAT(RecallTable(trade(), Options())->objects, IsEmpty()) << "it is not archived";
}

TEST_F(TableArchiveTest, SmallFilesStay) {
  ArchiveOptions options = Options();
  options.keep_bytes = 5000;  // `sym` has a page and more, but fewer than 5000 bytes.
  const DirectoryContent before = ContentOf(trade());
  EXPECT_FALSE(ArchiveTable(trade(), options)->has_changed);
  EXPECT_EQ(ContentOf(trade()), before);
  EXPECT_THAT(store_->Keys(), IsEmpty());
}

// Goal: whatever step is the last of a killed archive or recall, readers see the same rows
// afterwards, and a repetition leaves neither a file nor an object too many. Method: steps on the
// file system and requests to the store are counted together; after n of them, all fail.
TEST_F(TableArchiveTest, AKillAtAnyStepLosesNothing) {
  enum Work { kArchive, kRecall };
  const DirectoryContent local = ContentOf(trade());
  for (const Work work : {kArchive, kRecall}) {
    const auto run = [&](StorageObserver* observer) {
      return work == kArchive ? Archive(observer) : Recall(observer);
    };
    for (size_t steps = 0;; ++steps) {
      SCOPED_TRACE(fmt::format("work {} steps {}", static_cast<int>(work), steps));
      ASSERT_LT(steps, 1000u);
      if (work != kArchive) {
        ASSERT_TRUE(Archive().ok());
      }
      StepKiller killer(steps);
      store_->SetHook([&killer](std::string_view, const std::string& key) {
        return killer.Before(StorageStep::kWrite, key, 0);
      });
      const bool is_done = run(&killer).ok();
      store_->SetHook(nullptr);
      ASSERT_EQ(SeenNow(), kSeenBefore);
      if (work == kArchive) {
        ASSERT_TRUE(Archive().ok());
        ASSERT_EQ(SeenNow(), kSeenBefore);
        const auto marker = *ReadArchiveMarker(trade(), kArchivedName);
        ASSERT_TRUE(marker.has_value());
        ASSERT_THAT(ContentOf(trade()), SizeIs(3));
        ASSERT_THAT(store_->Keys(), SizeIs(ObjectsOf(*marker)));
      } else {
        ASSERT_TRUE(run(nullptr).ok());
      }
      ASSERT_TRUE(Recall().ok());
      ASSERT_EQ(ContentOf(trade()), local);
      if (work == kArchive) store_->Clear();
      ExpectSound();
      if (!is_done) continue;
      EXPECT_GT(steps, 10u);
      break;
    }
  }
}

// Goal: the local files stay unless each object is right. Method: each object in turn is damaged,
// shortened or lost between its upload and the comparison.
TEST_F(TableArchiveTest, ALocalFileStaysUnlessItsObjectIsRight) {
  const DirectoryContent before = ContentOf(trade());
  const std::vector<std::function<void(std::string&)>> faults = {
      [](std::string& bytes) { bytes[bytes.size() / 2] ^= 1; },
      [](std::string& bytes) { bytes.pop_back(); },
  };
  for (const auto& fault : faults) {
    store_->Clear();
    std::atomic<bool> is_done = false, has_put = false;
    store_->SetHook([&](std::string_view verb, const std::string& key) {
      if (verb == "put") has_put = true;
      if (verb == "get" && has_put && !is_done.exchange(true)) store_->Change(key, fault);
      return absl::OkStatus();
    });
    const absl::Status status = Archive();
    store_->SetHook(nullptr);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(Message(status)), HasSubstr("s3://test/stack/"));
    EXPECT_EQ(ContentOf(trade()), before);
    EXPECT_EQ(SeenNow(), kSeenBefore);
  }
  ASSERT_TRUE(Archive().ok());
  EXPECT_EQ(SeenNow(), kSeenBefore);
}

TEST_F(TableArchiveTest, ADamagedLocalFileIsNotArchived) {
  std::fstream(trade() + "/size", std::ios::in | std::ios::out).seekp(20).put('\x7f');
  const absl::Status status = Archive();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(store_->Keys(), IsEmpty());
  fs::remove(trade() + "/.checksums");
  EXPECT_THAT(std::string(Message(Archive())), HasSubstr("tickstack hdb checksum"));
}

// Goal: a right object is never written again, since other tables may refer to it, and a service
// may deny a missing one.
TEST_F(TableArchiveTest, OnlyMissingObjectsAreWritten) {
  ASSERT_TRUE(Archive().ok());
  const std::vector<std::string> keys = store_->Keys();
  ASSERT_TRUE(Recall().ok());
  store_->Remove(keys.front());
  std::vector<std::string> written;
  store_->SetHook([&](std::string_view verb, const std::string& key) {
    if (verb == "put") written.push_back(key);
    if (verb == "get" && key == keys.front() && written.empty()) {
      return absl::PermissionDeniedError("403");
    }
    return absl::OkStatus();
  });
  ASSERT_TRUE(Archive().ok());
  store_->SetHook(nullptr);
  EXPECT_THAT(written, testing::ElementsAre(keys.front()));
  EXPECT_EQ(store_->Keys(), keys);
}

TEST_F(TableArchiveTest, AFailedRecallLeavesNoFile) {
  ASSERT_TRUE(Archive().ok());
  const DirectoryContent archived = ContentOf(trade());
  PutFile(trade() + "/.recalling-7", "left by a killed one");
  store_->Change(store_->Keys().front(), [](std::string& bytes) { bytes.front() ^= 1; });
  EXPECT_TRUE(absl::IsDataLoss(Recall()));
  EXPECT_EQ(ContentOf(trade()), archived);
}

TEST_F(TableArchiveTest, ATableWithDamagedObjectsStaysArchived) {
  ASSERT_TRUE(Archive().ok());
  store_->Change(store_->Keys().back(), [](std::string& bytes) { bytes.back() ^= 1; });
  const absl::Status status = Recall();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_TRUE(fs::exists(trade() + "/.archived"));
  // A query gets the same error, and never the damaged byte.
  const auto database = *Database::Open(db());
  EXPECT_TRUE(absl::IsDataLoss(Look(*database).status())) << Look(*database).status();
}

TEST_F(TableArchiveTest, EqualTablesShareTheirObjectsAndOthersDoNot) {
  const std::string copy = folder_ / "other/2024.01.29/trade";
  fs::create_directories(folder_ / "other/2024.01.29");
  fs::copy(trade(), copy);
  ASSERT_TRUE(Archive().ok());
  const std::vector<std::string> keys = store_->Keys();
  ASSERT_TRUE(ArchiveTable(copy, Options()).ok());
  EXPECT_EQ(store_->Keys(), keys);
  ASSERT_TRUE(RecallTable(copy, Options()).ok());
  EXPECT_EQ(SeenNow(), kSeenBefore);
  ASSERT_TRUE(Recall().ok());
  ASSERT_TRUE(Merge().ok());
  ASSERT_TRUE(Archive().ok());
  EXPECT_THAT(store_->Keys(), testing::IsSupersetOf(keys));
  EXPECT_GT(store_->Keys().size(), keys.size());
  EXPECT_EQ(SeenNow(), kSeenAfter);
}

// Goal: a local file of an archived table is removed only if it is the archived one, and its object
// is right. Method: files come back as from a backup, with another byte, and without an object.
TEST_F(TableArchiveTest, LocalFilesOfAnArchivedTableAreRemovedOnlyIfTheyAreArchived) {
  const std::string size = trade() + "/size", kept = folder_ / "size";
  fs::copy(size, kept);
  ASSERT_TRUE(Archive().ok());
  const std::vector<std::string> keys = store_->Keys();
  fs::copy(kept, size);
  ASSERT_TRUE(Archive().ok());
  EXPECT_FALSE(fs::exists(size));

  fs::copy(kept, size);
  std::fstream(size, std::ios::in | std::ios::out).seekp(20).put('\x7f');
  for (const absl::Status& status : {Archive(), Recall()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(Message(status)), HasSubstr("trade/size: differs from the file"));
    EXPECT_TRUE(fs::exists(size));
  }

  fs::copy(kept, size, fs::copy_options::overwrite_existing);
  store_->Clear();
  EXPECT_TRUE(absl::IsNotFound(Archive())) << Archive();
  EXPECT_TRUE(fs::exists(size));
}

TEST_F(TableArchiveTest, ATableThatChangesMeanwhileStaysLocal) {
  const DirectoryContent before = ContentOf(trade());
  ArchiveOptions options = Options();
  options.lock = [this]() -> absl::StatusOr<File> {
    // Another program replaces a file by an equal one before the lock is taken.
    fs::copy(trade() + "/size", trade() + "/other");
    fs::rename(trade() + "/other", trade() + "/size");
    return File();
  };
  const absl::Status status = ArchiveTable(trade(), options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(Message(status)), HasSubstr("repeat the command"));
  EXPECT_EQ(ContentOf(trade()), before);
}

TEST_F(TableArchiveTest, AnArchivedPartitionMovesToAnotherSegment) {
  ASSERT_TRUE(Archive().ok());
  const std::string segment = folder_ / "segment";
  fs::create_directories(segment);
  const absl::Status moved = MovePartition({"2024.01.29", db(), segment, 0}, Storage());
  ASSERT_TRUE(moved.ok()) << moved;
  const auto column = ColumnFile::Open(segment + "/2024.01.29/trade/size");
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_EQ((*column)->rows(), kOld.size());
  ASSERT_TRUE(RecallTable(segment + "/2024.01.29/trade", Options()).ok());
  fs::rename(segment + "/2024.01.29", day());
  EXPECT_EQ(SeenNow(), kSeenBefore);
}

// Goal: objects that a table had before are used again only if they are still right.
TEST_F(TableArchiveTest, ObjectsOfARecalledTableAreComparedBeforeTheyAreUsedAgain) {
  ASSERT_TRUE(Archive().ok());
  const std::vector<std::string> keys = store_->Keys();
  ASSERT_TRUE(Recall().ok());
  store_->SetHook([](std::string_view verb, const std::string&) {
    return verb == "put" ? Unavailable("an object is written again") : absl::OkStatus();
  });
  ASSERT_TRUE(Archive().ok());
  store_->SetHook(nullptr);
  ASSERT_TRUE(Recall().ok());
  store_->Change(keys.front(), [](std::string& bytes) { bytes.front() ^= 1; });
  ASSERT_TRUE(Archive().ok());
  EXPECT_EQ(store_->Keys(), keys);
  EXPECT_EQ(SeenNow(), kSeenBefore);
  ExpectSound();
}

TEST_F(TableArchiveTest, WhatNeedsTheColumnsHereIsRefused) {
  ASSERT_TRUE(Archive().ok());
  const auto expect_refused = [this](const absl::Status& status, const std::string& table) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(Message(status)), HasSubstr(table + ": archived"));
    EXPECT_THAT(std::string(Message(status)), HasSubstr("hdb recall"));
    EXPECT_EQ(SeenNow(), kSeenBefore);
  };
  expect_refused(Merge().status(), trade());
  ColumnChange change;
  change.kind = ColumnChange::Kind::kRename;
  change.column = "note";
  change.new_name = "remark";
  MigrationOptions options;
  options.database = db();
  expect_refused(MigrateTable(options, "trade", change).status(), trade());
  // Also if the archived table is another one of the partition.
  expect_refused(MigrateTable(options, "quote", change).status(), trade());
  WorkerPool none(0);
  ChecksumWriterOptions checksum;
  checksum.workers = &none;
  const auto written = WriteChecksums(db(), checksum, Storage());
  ASSERT_TRUE(written.ok());
  ASSERT_THAT(written->errors, SizeIs(1));
  EXPECT_THAT(written->errors.front(), HasSubstr(trade() + ": archived"));
  ASSERT_TRUE(Recall().ok());
  EXPECT_TRUE(Merge().ok());
}

TEST_F(TableArchiveTest, WithoutItsStoreATableIsAnErrorOfItsDatesOnly) {
  ASSERT_TRUE(Archive().ok());
  SetObjectStore(nullptr);
  const auto database = Database::Open(db());
  ASSERT_TRUE(database.ok());
  const absl::Status status = Look(**database).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(status)),
              HasSubstr("archived in s3://test, and this process has no object store"));
  EXPECT_TRUE((*(*database)->FindPartitioned("trade")->In(1))->Column(0).ok());
  // A check reads what is here, and says what it left out.
  WorkerPool none(0);
  const auto check = CheckDatabase(db(), none);
  ASSERT_TRUE(check.ok());
  EXPECT_TRUE(check->is_sound());
  ASSERT_THAT(check->warnings, SizeIs(1));
  EXPECT_THAT(check->warnings.front().what, HasSubstr("archived"));
  SetObjectStore(store_.shared());
  store_->SetHook([](std::string_view, const std::string&) { return Unavailable("no route"); });
  const absl::Status lost = Look(**database).status();
  EXPECT_TRUE(absl::IsUnavailable(lost)) << lost;
  EXPECT_THAT(std::string(Message(lost)), HasSubstr("trade/"));
}

TEST_F(TableArchiveTest, AMarkerWithAnyChangedByteIsRefused) {
  const ArchiveMarker marker{
      "s3://b", "a/2024.01.29/trade/0f", 65536, {{"time", 70000, 7}, {"price size", 1, 0xabcdef}}};
  const std::string text = EncodeArchiveMarker(marker);
  const absl::StatusOr<ArchiveMarker> parsed = ParseArchiveMarker(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(EncodeArchiveMarker(*parsed), text);
  EXPECT_EQ(parsed->KeyOf(0, 65536), "a/2024.01.29/trade/0f/0.1");
  // A marker never replaces what is always in the directory.
  for (const char* const name : {".d", ".checksums", "..", "a/b"}) {
    ArchiveMarker of_others = marker;
    of_others.files.front().name = name;
    EXPECT_TRUE(absl::IsDataLoss(ParseArchiveMarker(EncodeArchiveMarker(of_others)).status()));
  }
  for (size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_TRUE(absl::IsDataLoss(ParseArchiveMarker(changed).status())) << i;
    EXPECT_TRUE(absl::IsDataLoss(ParseArchiveMarker(text.substr(0, i)).status())) << i;
  }
}

// Goal: readers never see anything but the day's rows while its table moves to the store and back.
TEST_F(TableArchiveTest, ReadersSeeTheSameRowsMeanwhile) {
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> looks = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!stop.load()) {
        const auto database = Database::Open(db());
        ASSERT_TRUE(database.ok()) << database.status();
        for (int again = 0; again < 3; ++again) {
          const absl::StatusOr<SeenDay> seen = Look(**database);
          ASSERT_TRUE(seen.ok()) << seen.status();
          ASSERT_EQ(*seen, kSeenBefore);
        }
        looks.fetch_add(1);
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(Archive().ok());
    // A reader that opened a column in the store goes on there.
    ASSERT_TRUE(Recall().ok());
    const uint64_t before = looks.load();
    while (looks.load() < before + 3 && !HasFailure()) std::this_thread::yield();
  }
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace tickstack::disk
