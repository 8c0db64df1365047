// Runs queries over databases that kdb+ wrote, of many years and versions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/logging.h"
#include "disk/partition_name.h"
#include "hdb/hdb.h"
#include "hdb/hdb_environment.h"
#include "tests/support/fixtures.h"

namespace tickstack::hdb {
namespace {

namespace fs = std::filesystem;

bool IsTable(const fs::path& path) { return fs::is_regular_file(path / ".d"); }

// Returns the directories that have partitions with tables.
std::set<fs::path> DatabasesUnder(const fs::path& folder) {
  std::set<fs::path> roots;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory() || !IsTable(entry.path())) continue;
    const fs::path partition = entry.path().parent_path();
    if (disk::ParsePartitionName(partition.filename().string()).has_value()) {
      roots.insert(partition.parent_path());
    }
  }
  return roots;
}

class Loaded {
 public:
  explicit Loaded(const std::string& root) : hdb_(root), environment_(&hdb_, &clock_) {
    InitLogging("test", LogLevel::kOff);
    status_ = hdb_.Reload();
  }
  const absl::Status& status() const { return status_; }
  std::vector<std::string> TableNames() { return environment_.TableNames(); }
  absl::StatusOr<Value> Ask(std::string_view text) { return query::Evaluate(text, environment_); }
  int64_t AskLong(const std::string& text) {
    const absl::StatusOr<Value> answer = Ask(text);
    EXPECT_TRUE(answer.ok()) << text << ": " << answer.status();
    if (!answer.ok() || !answer->is_atom_of(Type::kLong)) return -1;
    return answer->as<int64_t>();
  }
  std::string partition_column() {
    return std::string(hdb_.current()->database().partition_column());
  }
  bool IsPartitioned(const std::string& table) {
    const std::shared_ptr<const query::StoredTable> stored = hdb_.current()->Find(table);
    return stored != nullptr && stored->is_partitioned();  // nullptr for a flat table.
  }

 private:
  ManualClock clock_{0};
  Hdb hdb_;
  HdbEnvironment environment_;
  absl::Status status_;
};

// Returns whether a fixture is known to be damaged: its `sym` has fewer names than this column's
// numbers need.
bool IsKnownDamage(const absl::Status& status) {
  return absl::IsDataLoss(status) &&
         status.message().find("AquaQAnalytics-TorQ-Air/hdb/2020.11.14/flights/sym") !=
             std::string_view::npos;
}

// Goal: every database loads, and all that it holds can be asked for. Method: every table of every
// database among the fixtures is read whole, counted by partition, and described.
TEST(HdbFixtures, EveryDatabaseLoadsAndAnswers) {
  TS_REQUIRE_FIXTURE(folder, "kdb");
  size_t tables = 0;
  int64_t rows = 0;
  for (const fs::path& root : DatabasesUnder(folder)) {
    SCOPED_TRACE(root.string());
    Loaded hdb(root.string());
    ASSERT_TRUE(hdb.status().ok()) << hdb.status();
    EXPECT_FALSE(hdb.TableNames().empty());
    for (const std::string& table : hdb.TableNames()) {
      SCOPED_TRACE(table);
      const int64_t count = hdb.AskLong("count " + table);
      EXPECT_EQ(hdb.AskLong("count select from " + table), count);
      EXPECT_TRUE(hdb.Ask("meta " + table).ok());
      if (hdb.IsPartitioned(table) && count > 0) {
        EXPECT_EQ(hdb.AskLong("exec sum n from select n:count i by " + hdb.partition_column() +
                              " from " + table),
                  count);
      }
      const absl::StatusOr<Value> all = hdb.Ask("select from " + table);
      EXPECT_TRUE(all.ok() || IsKnownDamage(all.status())) << all.status();
      ++tables;
      rows += count;
    }
  }
  EXPECT_GE(tables, 35u);
  EXPECT_GE(rows, 100'000);
}

TEST(HdbFixtures, ValuesAreThoseThatKdbWrote) {
  TS_REQUIRE_FIXTURE(folder, "kdb");
  Loaded hdb((folder / "alpha-training-fundamentals-aburke/Solutions/stack1/proc/testdb").string());
  ASSERT_TRUE(hdb.status().ok()) << hdb.status();
  const absl::StatusOr<Value> names = hdb.Ask("exec sym from trade where i<3");
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_EQ(names->symbols()[0], "GOOG");
  EXPECT_EQ(names->symbols()[1], "AAPL");
  EXPECT_EQ(names->symbols()[2], "GOOG");
  EXPECT_EQ(hdb.AskLong("exec sum size from trade where sym=`AAPL,i=1"), 100);
  EXPECT_EQ(hdb.AskLong("`long$exec first time from trade"), 36'000'000);
}

// Goal: the newest partition decides which columns there are: its missing column `time` hides the
// older one's, and a column that the older one lacks is null there.
TEST(HdbFixtures, TheNewestPartitionSaysWhichColumnsThereAre) {
  TS_REQUIRE_FIXTURE(folder, "kdb");
  Loaded hdb((folder / "alpha-training-fundamentals-aburke/Solutions/stack1/proc").string());
  ASSERT_TRUE(hdb.status().ok()) << hdb.status();
  EXPECT_EQ(hdb.AskLong("count cols trade"), 3);
  EXPECT_EQ(hdb.AskLong("exec sum size from trade"), 1'200);
  EXPECT_EQ(hdb.AskLong("count select from trade where null price"), 3);
  EXPECT_EQ(hdb.AskLong("count select from trade where date=2025.01.01,null price"), 3);
}

}  // namespace
}  // namespace tickstack::hdb
