#include "backup/backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "backup/file_copy.h"
#include "backup/restore.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "disk/partition_testing.h"
#include "disk/storage.h"
#include "tplog/tplog_for_test.h"
#include "tplog/tplog_state.h"

namespace tickstack::backup {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tplog::BlockOf;

// A data directory with one log, and a place for backups of it.
class BackupTest : public tplog::TplogTest {
 protected:
  BackupTest() {
    data_ = directory_ + "/data";
    destination_ = directory_ + "/backup";
    std::filesystem::create_directories(data_ + "/tplog");
    path_ = data_ + "/tplog/sym2013.10.07";
    index_path_ = tplog::TplogIndexPath(path_);
    disk::PutFile(Config(), "[tickerplant]\n");
  }

  std::string Config() const { return directory_ + "/stack.toml"; }
  absl::StatusOr<BackupReport> TryBackUp() const {
    return BackUp({.config = Config(),
                   .data = data_,
                   .database = data_ + "/hdb",
                   .destination = destination_,
                   .threads = 2});
  }
  BackupReport Backed() const {
    absl::StatusOr<BackupReport> report = TryBackUp();
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *std::move(report) : BackupReport();
  }
  // Returns the messages of the log in a restored data directory.
  std::vector<std::string> Restored() {
    const std::string data = directory_ + "/restored";
    std::filesystem::remove_all(data);
    const absl::StatusOr<Manifest> manifest = Restore({.source = destination_, .data = data});
    EXPECT_TRUE(manifest.ok()) << manifest.status();
    const auto reader = tplog::TplogReader::Open(data + "/tplog/sym2013.10.07");
    EXPECT_TRUE(reader.ok()) << reader.status();
    return reader.ok() ? Replay(**reader) : std::vector<std::string>();
  }
  std::vector<std::string> Logged() {
    const auto reader = OpenReader();
    return Replay(*reader);
  }

  std::string data_, destination_;
};

TEST_F(BackupTest, CopiesALogThatIsBeingWritten) {
  const auto writer = OpenWriter();
  ASSERT_TRUE(BlockOf("feed").Add("trade", 3).Add("quote", 2).AppendTo(*writer).ok());
  ASSERT_TRUE(BlockOf("feed").Add("trade", 4, 3).AppendTo(*writer).ok());
  const BackupReport report = Backed();
  EXPECT_EQ(report.manifest.messages.at("tplog/sym2013.10.07"), 3u);
  EXPECT_THAT(report.problems, ElementsAre());
  EXPECT_EQ(Restored(), Logged());
  EXPECT_EQ(disk::FileBytes(directory_ + "/restored/stack.toml"), "[tickerplant]\n");
  EXPECT_EQ(tplog::ReadTplogState(directory_ + "/restored/tplog/sym2013.10.07").value(),
            tplog::ReadTplogState(path_).value());
}

TEST_F(BackupTest, EndsWithAWholeMessage) {
  auto writer = OpenWriter();
  ASSERT_TRUE(BlockOf().Add("trade", 3).AppendTo(*writer).ok());
  const std::vector<std::string> whole = Logged();
  const std::string log = disk::FileBytes(path_);
  ASSERT_TRUE(BlockOf().Add("trade", 1'000).AppendTo(*writer).ok());
  // As if the second block were only partly in the log yet: its record comes first.
  std::filesystem::resize_file(path_, log.size() + 100);
  const BackupReport report = Backed();
  EXPECT_EQ(report.manifest.messages.at("tplog/sym2013.10.07"), 1u);
  EXPECT_THAT(report.problems, ElementsAre());
  EXPECT_EQ(Restored(), whole);
}

TEST_F(BackupTest, TheSecondOneCopiesWhatIsNew) {
  const auto writer = OpenWriter();
  ASSERT_TRUE(BlockOf().Add("trade", 5'000).AppendTo(*writer).ok());
  Backed();
  const uint64_t bytes = std::filesystem::file_size(path_);
  const BackupReport same = Backed();
  EXPECT_EQ(same.bytes_copied, 0u);
  EXPECT_EQ(same.files_copied, 0u);
  ASSERT_TRUE(BlockOf().Add("trade", 10, 5'000).AppendTo(*writer).ok());
  const BackupReport more = Backed();
  EXPECT_GT(more.bytes_copied, 0u);
  EXPECT_LT(more.bytes_copied, bytes / 10);
  EXPECT_EQ(more.manifest.generation, 3u);
  EXPECT_EQ(Restored(), Logged());
}

// A power cut took the end of the log, which then went on differently.
TEST_F(BackupTest, CopiesALogAnewThatDoesNotBeginAsBefore) {
  auto writer = OpenWriter();
  ASSERT_TRUE(BlockOf().Add("trade", 3).AppendTo(*writer).ok());
  writer = nullptr;
  const std::string log = disk::FileBytes(path_), index = disk::FileBytes(index_path_);
  writer = OpenWriter();
  ASSERT_TRUE(BlockOf().Add("trade", 4, 100).AppendTo(*writer).ok());
  writer = nullptr;
  Backed();
  disk::PutFile(path_, log);
  disk::PutFile(index_path_, index);
  writer = OpenWriter();
  ASSERT_TRUE(BlockOf().Add("trade", 4, 200).AppendTo(*writer).ok());
  ASSERT_TRUE(BlockOf().Add("trade", 4, 300).AppendTo(*writer).ok());
  const BackupReport report = Backed();
  EXPECT_THAT(report.problems, ElementsAre());
  EXPECT_EQ(Restored(), Logged());
  // The old copy is gone.
  size_t copies = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(destination_)) {
    copies += entry.path().filename() == "sym2013.10.07";
  }
  EXPECT_EQ(copies, 1u);
}

TEST_F(BackupTest, AnInterruptedOneLeavesTheLastOne) {
  auto writer = OpenWriter();
  ASSERT_TRUE(BlockOf().Add("trade", 3).AppendTo(*writer).ok());
  Backed();
  const std::vector<std::string> before = Logged();
  ASSERT_TRUE(BlockOf().Add("trade", 4, 3).AppendTo(*writer).ok());
  // The configuration comes last, and is not there.
  std::filesystem::rename(Config(), Config() + ".away");
  EXPECT_FALSE(TryBackUp().ok());
  EXPECT_EQ(Restored(), before);
  std::filesystem::rename(Config() + ".away", Config());
  Backed();
  EXPECT_EQ(Restored(), Logged());
}

TEST_F(BackupTest, NamesDamageAndKeepsIt) {
  auto writer = OpenWriter();
  ASSERT_TRUE(BlockOf().Add("trade", 300).AppendTo(*writer).ok());
  writer = nullptr;
  std::string log = disk::FileBytes(path_);
  log[log.size() / 2] ^= 1;
  disk::PutFile(path_, log);
  EXPECT_THAT(Backed().problems, ElementsAre(HasSubstr("sym2013.10.07")));
  EXPECT_TRUE(VerifyBackup(destination_).ok());
  ASSERT_TRUE(Restore({.source = destination_, .data = directory_ + "/restored"}).ok());
  EXPECT_EQ(disk::FileBytes(directory_ + "/restored/tplog/sym2013.10.07"), log);
}

TEST_F(BackupTest, CopiesTablesAndDomainsOfADatabase) {
  const std::string database = data_ + "/hdb";
  std::filesystem::create_directories(database + "/reference");
  std::filesystem::create_directories(database + "/writing.2013.10.07$");
  disk::PutFile(database + "/reference/name", "names");
  disk::PutFile(database + "/writing.2013.10.07$/x", "unfinished");
  disk::PutFile(database + "/sym", "first");
  Backed();
  disk::PutFile(database + "/sym", "first and second");
  disk::PutFile(database + "/reference/name", "NAMES");
  const BackupReport report = Backed();
  EXPECT_EQ(report.files_copied, 2u);
  ASSERT_TRUE(Restore({.source = destination_, .data = directory_ + "/restored"}).ok());
  const std::string restored = directory_ + "/restored/hdb";
  EXPECT_EQ(disk::FileBytes(restored + "/sym"), "first and second");
  EXPECT_EQ(disk::FileBytes(restored + "/reference/name"), "NAMES");
  EXPECT_FALSE(std::filesystem::exists(restored + "/writing.2013.10.07$"));
  // Checksums of a partition know the time of their files' last change.
  EXPECT_EQ(FactsOf(restored + "/sym").value(), FactsOf(database + "/sym").value());
}

// A migration renames a column and records that. Without such a record, a file that disappeared is
// one that the disk lost.
TEST_F(BackupTest, AnotherVersionOfAPartitionReplacesTheFirst) {
  const std::string table = data_ + "/hdb/2013.10.07/trade/";
  std::filesystem::create_directories(table);
  for (const std::string name : {"cond", "price", ".d"}) disk::PutFile(table + name, name);
  Backed();
  std::filesystem::remove(table + "price");
  EXPECT_TRUE(Backed().manifest.files.contains("hdb/2013.10.07/trade/price"));
  std::filesystem::rename(table + "cond", table + "condition");
  disk::PutFile(table + ".revisions", "1");
  const auto files = Backed().manifest.files;
  EXPECT_TRUE(files.contains("hdb/2013.10.07/trade/condition"));
  EXPECT_FALSE(files.contains("hdb/2013.10.07/trade/cond"));
  // An undo puts the version without the record back.
  std::filesystem::rename(table + "condition", table + "cond");
  std::filesystem::remove(table + ".revisions");
  const auto undone = Backed().manifest.files;
  EXPECT_TRUE(undone.contains("hdb/2013.10.07/trade/cond"));
  EXPECT_FALSE(undone.contains("hdb/2013.10.07/trade/condition"));
  EXPECT_FALSE(undone.contains("hdb/2013.10.07/trade/.revisions"));
}

// A column that was changed, and then archived, must not come back as it was before the change.
// What an unfinished command writes is left out.
TEST_F(BackupTest, AnArchivedTableReplacesColumnsWithOtherChecksums) {
  const std::string table = data_ + "/hdb/2013.10.07/trade/", stored = "hdb/2013.10.07/trade/";
  std::filesystem::create_directories(table);
  for (const std::string name : {"size", "price", ".d", ".checksums"}) {
    disk::PutFile(table + name, name);
  }
  Backed();
  disk::PutFile(table + ".archived", "marker of the same columns");
  disk::PutFile(table + ".archived.new", "marker");
  disk::PutFile(table + ".recalling-0", "a part of a column");
  std::filesystem::remove(table + "price");
  const auto kept = Backed().manifest.files;
  EXPECT_TRUE(kept.contains(stored + "price")) << "it is what the marker names";
  EXPECT_TRUE(kept.contains(stored + ".archived"));
  EXPECT_FALSE(kept.contains(stored + ".archived.new"));
  EXPECT_FALSE(kept.contains(stored + ".recalling-0"));
  disk::PutFile(table + ".checksums", "those of changed columns");
  const auto changed = Backed().manifest.files;
  EXPECT_TRUE(changed.contains(stored + "size"));
  EXPECT_FALSE(changed.contains(stored + "price"));
}

// Goal: a backup has the files of one version, and no other. Method: in each of many backups,
// another thread exchanges two versions at some moment.
TEST_F(BackupTest, APartitionIsCopiedAsOneVersionWhileAnotherTakesItsPlace) {
  const std::string day = data_ + "/hdb/2013.10.07", other = data_ + "/hdb/revised.2013.10.07.1$";
  std::set<std::string> old_files = {".d", "cond"}, new_files = {".d", ".revisions", "condition"};
  for (int i = 0; i < 20; ++i) {
    old_files.insert(fmt::format("column{}", i));
    new_files.insert(fmt::format("column{}", i));
  }
  for (const std::string& directory : {day, other}) {
    std::filesystem::create_directories(directory + "/trade");
    const bool is_new = directory == other;
    for (const std::string& name : is_new ? new_files : old_files) {
      disk::PutFile(fmt::format("{}/trade/{}", directory, name), is_new ? "renewed" : "old");
    }
  }
  std::mt19937_64 random(1);
  uint64_t yields_of_backup = 0;  // Number of yields during the last backup.
  for (int i = 0; i < 40; ++i) {
    std::atomic<bool> is_over = false;
    std::thread exchanging([&, at = random() % (yields_of_backup + 1)] {
      uint64_t yields = 0;
      for (; !is_over; ++yields) {
        if (yields == at) {
          EXPECT_TRUE(disk::Storage().Exchange(day, other).ok());
        }
        std::this_thread::yield();
      }
      yields_of_backup = yields;
    });
    const BackupReport report = Backed();
    is_over = true;
    exchanging.join();
    const std::string prefix = "hdb/2013.10.07/trade/";
    std::set<std::string> names, contents;
    for (const auto& [path, file] : report.manifest.files) {
      if (!path.starts_with(prefix)) continue;
      names.insert(path.substr(prefix.size()));
      contents.insert(disk::FileBytes(fmt::format("{}/{}", destination_, file.stored)));
    }
    ASSERT_EQ(contents.size(), 1u);
    EXPECT_EQ(names, *contents.begin() == "old" ? old_files : new_files);
  }
}

// Goal: a backup leaves nothing out because a file system cannot say whether it is there. Method:
// links that lead to themselves.
TEST_F(BackupTest, LeavesNothingOutThatItCannotLookFor) {
  ASSERT_TRUE(BlockOf("feed").Add("trade", 3).AppendTo(*OpenWriter()).ok());
  for (const std::string& name : {data_ + "/hdb", index_path_}) {
    std::filesystem::remove(name);
    std::filesystem::create_symlink(name, name);
    EXPECT_THAT(Message(TryBackUp().status()), HasSubstr(name + ": stat: Too many")) << name;
    std::filesystem::remove(name);
  }
}

TEST_F(BackupTest, RefusesSegmentsAndASecondBackupAtTheSameTime) {
  std::filesystem::create_directories(data_ + "/hdb");
  disk::PutFile(data_ + "/hdb/par.txt", "/elsewhere\n");
  EXPECT_EQ(TryBackUp().status().code(), absl::StatusCode::kUnimplemented);
  std::filesystem::remove(data_ + "/hdb/par.txt");
  File lock = File::OpenOrCreate(destination_ + "/lock").value();
  ASSERT_TRUE(lock.TryLock().ok());
  EXPECT_EQ(TryBackUp().status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(BackupTest, RestoresOnlyIntoAnEmptyPlaceAndOnlyWhatWasCopied) {
  const std::string data = directory_ + "/restored";
  EXPECT_EQ(Restore({.source = directory_, .data = data}).status().code(),
            absl::StatusCode::kNotFound);
  auto writer = OpenWriter();
  ASSERT_TRUE(BlockOf().Add("trade", 3).AppendTo(*writer).ok());
  Backed();
  std::filesystem::create_directories(data);
  disk::PutFile(data + "/something", "x");
  EXPECT_EQ(Restore({.source = destination_, .data = data}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  std::filesystem::remove(data + "/something");
  EXPECT_TRUE(Restore({.source = destination_, .data = data + "/"}).ok());

  const std::string copy = destination_ + "/tplog/sym2013.10.07";
  std::string bytes = disk::FileBytes(copy);
  bytes[20] ^= 4;
  disk::PutFile(copy, bytes);
  std::filesystem::remove_all(data);
  for (const absl::Status& status : {Restore({.source = destination_, .data = data}).status(),
                                     VerifyBackup(destination_).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(Message(status)), HasSubstr(copy));
  }
  EXPECT_FALSE(std::filesystem::exists(data));
  EXPECT_FALSE(std::filesystem::exists(data + ".restoring"));
}

// ---- the manifest

class ManifestTest : public testing::Test {
 protected:
  absl::Status ErrorOf(std::string_view body) {
    disk::PutFile(folder_ / kManifestName,
                  fmt::format("tickstack backup 1 crc32c {:08x}\n{}",
                              Crc32c(std::as_bytes(std::span(body))), body));
    return ReadManifest(folder_.path()).status();
  }
  disk::TemporaryFolder folder_;
};

TEST_F(ManifestTest, IsReadAsItWasWritten) {
  EXPECT_EQ(ReadManifest(folder_.path()).value(), std::nullopt);
  Manifest manifest{.time_ns = 12, .generation = 3, .files = {}, .messages = {{"tplog/a", 5}}};
  manifest.files["hdb/x y"] = {"hdb/x y", "hdb~2/x y", 7, 0xffffffff, -1};
  ASSERT_TRUE(WriteManifest(folder_.path(), manifest).ok());
  const Manifest found = ReadManifest(folder_.path()).value().value();
  EXPECT_EQ(std::pair(found.time_ns, found.generation), std::pair(int64_t{12}, uint64_t{3}));
  EXPECT_EQ(found.messages, manifest.messages);
  const StoredFile& file = found.files.at("hdb/x y");
  EXPECT_EQ(file.stored, "hdb~2/x y");
  EXPECT_EQ(std::tuple(file.bytes, file.crc, file.changed_ns),
            std::tuple(uint64_t{7}, 0xffffffffu, int64_t{-1}));
}

TEST_F(ManifestTest, EachFlippedBitIsFound) {
  Manifest manifest;
  manifest.files["sym"] = {"sym", "sym", 7, 1, 2};
  ASSERT_TRUE(WriteManifest(folder_.path(), manifest).ok());
  const std::string whole = disk::FileBytes(folder_ / kManifestName);
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    disk::PutFile(folder_ / kManifestName, damaged);
    EXPECT_EQ(ReadManifest(folder_.path()).status().code(), absl::StatusCode::kDataLoss) << bit;
  }
}

TEST_F(ManifestTest, RefusesWhatIsNoManifestOrLeadsElsewhere) {
  EXPECT_EQ(ErrorOf("").code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ErrorOf("[]").code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ErrorOf(R"({"time_ns":1})").code(), absl::StatusCode::kDataLoss);
  constexpr std::string_view kOne =
      R"({{"time_ns":1,"generation":1,"messages":{{}},"files":[{{"path":"{}","stored":"{}","bytes":1,"crc32c":1,"changed_ns":1}}]}})";
  EXPECT_TRUE(ErrorOf(fmt::format(kOne, "a/b", "c")).ok());
  for (const char* const path : {"", "/a", "a/../../b", "..", "a//b", "./a", "a/"}) {
    EXPECT_EQ(ErrorOf(fmt::format(kOne, path, "a")).code(), absl::StatusCode::kDataLoss) << path;
    EXPECT_EQ(ErrorOf(fmt::format(kOne, "a", path)).code(), absl::StatusCode::kDataLoss) << path;
  }
}

}  // namespace
}  // namespace tickstack::backup
