#include "disk/partition_migration.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "disk/compression.h"
#include "disk/database.h"
#include "disk/database_check.h"
#include "disk/late_rows_testing.h"
#include "disk/partition_testing.h"
#include "disk/partition_writer.h"
#include "disk/table_revisions.h"
#include "mem/tier.h"
#include "table/batch_testing.h"
#include "table/codec.h"
#include "table/symbols.h"

namespace tickstack::disk {
namespace {

using testing::HasSubstr;
using Kind = ColumnChange::Kind;
namespace fs = std::filesystem;

constexpr int32_t kFirst = 8794;  // 2024.01.29
constexpr int32_t kDays = 3;

std::string Encoded(const Value& value) {
  ByteBuffer bytes;
  Encode(value, bytes);
  return std::string(AsText(bytes.span()));
}

// A change, and the schema of the table after it.
struct Case {
  ColumnChange change;
  std::string columns;
};

constexpr std::string_view kColumns = "time p, sym s, size i, venue s, note *";

std::vector<Case> Cases() {
  const auto change = [](Kind kind, std::string column) {
    ColumnChange each;
    each.kind = kind;
    each.column = std::move(column);
    return each;
  };
  std::vector<Case> cases;
  cases.push_back(
      {change(Kind::kAdd, "currency"), "time p, sym s, size i, venue s, note *, currency s"});
  cases.back().change.type = Type::kSymbol;
  cases.back().change.value = Value::Symbol("USD");
  cases.push_back({change(Kind::kAdd, "text"), "time p, sym s, size i, venue s, note *, text *"});
  cases.back().change.type = Type::kList;
  cases.back().change.value = Value::String("none");
  cases.push_back({change(Kind::kRename, "note"), "time p, sym s, size i, venue s, remark *"});
  cases.back().change.new_name = "remark";
  cases.push_back({change(Kind::kRetype, "size"), "time p, sym s, size j, venue s, note *"});
  cases.back().change.type = Type::kLong;
  cases.push_back({change(Kind::kRetype, "venue"), "time p, sym s, size i, venue *, note *"});
  cases.back().change.type = Type::kList;
  cases.push_back({change(Kind::kDrop, "size"), "time p, sym s, venue s, note *"});
  return cases;
}

// Appends the rows of a day to a table with any of the schemas above.
void Fill(int32_t day, Table& table) {
  constexpr size_t kRows = 5;
  Batch batch(kRows);
  for (const ColumnSpec& column : table.schema().columns) {
    std::vector<std::string> texts, items;
    std::vector<int64_t> numbers;
    std::vector<int32_t> ints;
    for (size_t row = 0; row < kRows; ++row) {
      const int64_t number = static_cast<int64_t>(row) * 3 % 5 + day;
      const std::string text = fmt::format("{}{}", column.name, row % 2);
      texts.push_back(column.name == "currency" ? "USD" : text);
      items.push_back(
          Encoded(Value::String(column.name == "text"    ? "none"
                                : column.name == "venue" ? text
                                                         : fmt::format("n{}", number))));
      numbers.push_back(number);
      ints.push_back(static_cast<int32_t>(number));
    }
    if (column.type == Type::kSymbol) batch.AddSymbols(texts);
    if (column.type == Type::kList) batch.AddItems(items);
    if (column.type == Type::kInt) batch.Add(column.type, ints);
    if (WidthOf(column.type) == 8) batch.Add(column.type, numbers);
  }
  TS_CHECK(table.Append(batch.view()).ok());
}

void WriteDays(const std::string& database, std::string_view columns,
               const std::string& compression) {
  for (int32_t day = 0; day < kDays; ++day) {
    SymbolTable symbols;
    const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("t");
    std::vector<Snapshot> snapshots;
    for (const auto& [name, spec] :
         {std::pair<std::string_view, std::string_view>("trade", columns), {"quote", kColumns}}) {
      const auto table =
          *Table::Create(*ParseSchema(name, spec), &symbols, {tier.get(), {}, nullptr});
      Fill(day, *table);
      snapshots.push_back(table->TakeSnapshot());
    }
    PartitionWriterOptions options;
    options.database = database;
    options.compression.Set("default", *ParseCompression(compression));
    TS_CHECK(WritePartition(options, kFirst + day, snapshots).ok());
  }
}

using Files = std::map<std::string, std::string>;
Files FilesOf(const std::string& directory) {
  Files files;
  for (const fs::directory_entry& each : fs::directory_iterator(directory)) {
    const std::string name = each.path().filename();
    if (name != kRevisionsName) files[name] = FileBytes(each.path());
  }
  return files;
}

std::string DayOf(const std::string& database, int32_t day) {
  return fmt::format("{}/{}", database, FormatPartition(PartitionKind::kDate, kFirst + day));
}

// All values of a table in a database, day by day; an error if one cannot be read.
absl::StatusOr<std::vector<std::string>> Read(const Database& database) {
  std::vector<std::string> values;
  const PartitionedTable* const table = database.FindPartitioned("trade");
  for (size_t day = 0; day < kDays; ++day) {
    TS_ASSIGN_OR_RETURN(const SplayedTable* const part, table->In(day));
    for (size_t i = 0; i < part->columns(); ++i) {
      TS_ASSIGN_OR_RETURN(const auto column, part->Column(i));
      TS_ASSIGN_OR_RETURN(const Value all, column->AllRows());
      values.push_back(part->column_names()[i] + Encoded(all));
    }
  }
  return values;
}

class PartitionMigrationTest : public testing::Test {
 protected:
  PartitionMigrationTest() : folder_(TemporaryFolder::InMemory()) {}

  std::string db() const { return folder_ / "db"; }
  void Rewrite(const std::string& compression = "none") {
    fs::remove_all(db());
    WriteDays(db(), kColumns, compression);
  }
  absl::StatusOr<Migration> Migrate(const ColumnChange& change,
                                    StorageObserver* observer = nullptr) const {
    MigrationOptions options;
    options.database = db();
    options.observer = observer;
    return MigrateTable(options, "trade", change);
  }
  // Returns when the clock of the file system, which ticks some hundred times a second, has ticked.
  void WaitForALaterTime() const {
    const auto touch = [this] {
      PutFile(folder_ / "touched", "");
      return fs::last_write_time(folder_ / "touched");
    };
    const fs::file_time_type now = touch();
    while (touch() == now) {
    }
  }
  void ExpectSound() const {
    WorkerPool none(0);
    const absl::StatusOr<DatabaseCheck> check = CheckDatabase(db(), none);
    ASSERT_TRUE(check.ok()) << check.status();
    EXPECT_TRUE(check->is_sound()) << check->findings.front().path << check->findings.front().what;
  }

  const TemporaryFolder folder_;
};

// Goal: a migrated table has the files of one that was written with the new columns, byte for byte,
// also their checksums.
TEST_F(PartitionMigrationTest, GivesTheFilesOfTheNewSchema) {
  for (const std::string compression : {"none", "zstd-1"}) {
    for (const Case& each : Cases()) {
      SCOPED_TRACE(each.columns + compression);
      Rewrite(compression);
      const absl::StatusOr<Migration> migrated = Migrate(each.change);
      ASSERT_TRUE(migrated.ok()) << migrated.status();
      EXPECT_EQ(migrated->changed, 3u);
      EXPECT_EQ(migrated->replaced[0], db() + "/replaced.2024.01.29.0$");
      const std::string other = folder_ / "other";
      fs::remove_all(other);
      fs::create_directories(other);
      fs::copy(db() + "/sym", other + "/sym");
      WriteDays(other, each.columns, compression);
      for (int32_t day = 0; day < kDays; ++day) {
        EXPECT_EQ(FilesOf(DayOf(db(), day) + "/trade"), FilesOf(DayOf(other, day) + "/trade"));
        EXPECT_EQ(FilesOf(DayOf(db(), day) + "/quote"), FilesOf(DayOf(other, day) + "/quote"));
      }
      ExpectSound();
      const absl::StatusOr<Migration> again = Migrate(each.change);
      if (each.change.kind == Kind::kRename) {
        EXPECT_EQ(again->had_it, 3u);
      } else {
        ASSERT_TRUE(again.ok()) << again.status();
        EXPECT_EQ(again->changed, 0u);
      }
    }
  }
}

// Goal: whenever it dies, each partition has the old or the new columns, all of them readable; a
// database that was opened before sees the old ones; and the same command completes it. Method:
// killed before each of the last steps, which exchange, and before every third of the others; each
// change begins with another of these.
TEST_F(PartitionMigrationTest, EachPartitionIsOldOrNewWhereverItIsKilled) {
  constexpr size_t kStride = 3, kLast = 20;
  size_t first = 0;
  for (const Case& each : Cases()) {
    SCOPED_TRACE(each.columns);
    Rewrite();
    std::vector<Files> old_days, new_days;
    for (int32_t day = 0; day < kDays; ++day)
      old_days.push_back(FilesOf(DayOf(db(), day) + "/trade"));
    StepKiller counting(SIZE_MAX);
    ASSERT_TRUE(Migrate(each.change, &counting).ok());
    for (int32_t day = 0; day < kDays; ++day)
      new_days.push_back(FilesOf(DayOf(db(), day) + "/trade"));
    const size_t steps = SIZE_MAX - counting.left();
    size_t all_old = 0, mixed = 0, tried = 0;
    for (size_t at = first++ % kStride; at < steps; at += at + kLast < steps ? kStride : 1) {
      SCOPED_TRACE(at);
      ++tried;
      Rewrite();
      const auto before = *Database::Open(db());
      const auto untouched = *Database::Open(db());
      const std::vector<std::string> old_values = *Read(*before);
      StepKiller killer(at);
      EXPECT_FALSE(Migrate(each.change, &killer).ok());
      size_t changed = 0;
      for (size_t day = 0; day < kDays; ++day) {
        const Files found = FilesOf(DayOf(db(), static_cast<int32_t>(day)) + "/trade");
        ASSERT_TRUE(found == old_days[day] || found == new_days[day]);
        changed += found == new_days[day] ? 1 : 0;
      }
      all_old += changed == 0 ? 1 : 0;
      mixed += changed > 0 && changed < kDays ? 1 : 0;
      EXPECT_TRUE(Read(**Database::Open(db())).ok());
      const absl::StatusOr<Migration> again = Migrate(each.change);
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(again->had_it, changed);
      for (size_t day = 0; day < kDays; ++day) {
        ASSERT_EQ(FilesOf(DayOf(db(), static_cast<int32_t>(day)) + "/trade"), new_days[day]);
      }
      ASSERT_TRUE((*Database::Open(db()))->problems().empty());
      const auto untouched_values = Read(*untouched);
      ASSERT_TRUE(untouched_values.ok()) << untouched_values.status();
      EXPECT_EQ(*untouched_values, old_values);
      EXPECT_EQ(*Read(*before), old_values);
    }
    EXPECT_GT(all_old, tried / 2);
    EXPECT_GE(mixed, 4u);  // Between the first exchange and the last.
    EXPECT_LE(mixed, 10u);
  }
}

// A version is used only if it is newer than the files from which it was made.
TEST_F(PartitionMigrationTest, UsesWhatIsPrepared) {
  Rewrite();
  const ColumnChange change = Cases()[3].change;
  StepKiller counting(SIZE_MAX);
  ASSERT_TRUE(Migrate(change, &counting).ok());
  const size_t steps = SIZE_MAX - counting.left();
  Rewrite();
  WaitForALaterTime();
  StepKiller late(steps - 12);  // Four steps a partition exchange and name its versions.
  ASSERT_FALSE(Migrate(change, &late).ok());
  StepKiller rest(SIZE_MAX);
  ASSERT_TRUE(Migrate(change, &rest).ok());
  EXPECT_LT(SIZE_MAX - rest.left(), 20u);
  // Another change does not use it, and removes it.
  Rewrite();
  StepKiller again(steps - 12);
  ASSERT_FALSE(Migrate(change, &again).ok());
  ASSERT_TRUE(Migrate(Cases()[5].change).ok());
  EXPECT_TRUE((*Database::Open(db()))->problems().empty());
  EXPECT_FALSE(*FileExists(DayOf(db(), 0) + "/trade/size"));
}

TEST_F(PartitionMigrationTest, NamesWhatCannotBeChanged) {
  Rewrite();
  const auto refused = [this](Kind kind, std::string column, std::string new_name, Type type) {
    ColumnChange change;
    change.kind = kind;
    change.column = std::move(column);
    change.new_name = std::move(new_name);
    change.type = type;
    change.value = Value::Float(1);
    return std::string(Message(Migrate(change).status()));
  };
  EXPECT_THAT(refused(Kind::kDrop, "sym", "", Type::kList), HasSubstr("has an attribute"));
  EXPECT_THAT(refused(Kind::kRename, "size", "venue", Type::kList), HasSubstr("is there, beside"));
  EXPECT_THAT(refused(Kind::kRename, "price", "bid", Type::kList),
              HasSubstr("has no column price"));
  EXPECT_THAT(refused(Kind::kRename, "size", "a/b", Type::kList), HasSubstr("not a name"));
  EXPECT_THAT(refused(Kind::kRetype, "time", "", Type::kLong), HasSubstr("there is no cast"));
  EXPECT_THAT(refused(Kind::kAdd, "size", "", Type::kFloat), HasSubstr("is there, with type int"));
  EXPECT_THAT(refused(Kind::kAdd, "date", "", Type::kFloat), HasSubstr("not a name"));
  MigrationOptions other;
  other.database = db();
  EXPECT_THAT(std::string(Message(MigrateTable(other, "fills", Cases()[0].change).status())),
              HasSubstr("no partition has a table fills"));
}

TEST_F(PartitionMigrationTest, AnErrorInOnePartitionChangesNone) {
  Rewrite();
  const Files before = FilesOf(DayOf(db(), 0) + "/trade");
  PutFile(DayOf(db(), 2) + "/trade/currency", "left over");
  EXPECT_THAT(std::string(Message(Migrate(Cases()[0].change).status())),
              HasSubstr("2024.01.31/trade/currency: a file that .d does not name"));
  EXPECT_EQ(FilesOf(DayOf(db(), 0) + "/trade"), before);
  EXPECT_TRUE((*Database::Open(db()))->problems().empty());
}

// The first days were prepared already, which takes room, and no other command would remove it.
TEST_F(PartitionMigrationTest, AValueThatDoesNotFitIsNamedAndNothingIsLeft) {
  Rewrite();
  const auto entries = [this] {
    std::set<std::string> names;
    for (const fs::directory_entry& each : fs::directory_iterator(db())) {
      names.insert(each.path().filename());
    }
    return names;
  };
  const std::set<std::string> before = entries();
  std::string sizes = FileBytes(DayOf(db(), 2) + "/trade/size");
  const int32_t value = 70'000;
  std::memcpy(sizes.data() + 16 + 3 * sizeof(value), &value, sizeof(value));
  PutFile(DayOf(db(), 2) + "/trade/size", sizes);
  fs::remove(DayOf(db(), 2) + "/trade/.checksums");
  ColumnChange change = Cases()[3].change;
  change.type = Type::kShort;
  EXPECT_EQ(Message(Migrate(change).status()),
            DayOf(db(), 2) + "/trade: size: row 3: 70000 is no short");
  EXPECT_EQ(entries(), before);
  EXPECT_EQ(FixedColumn<int32_t>(DayOf(db(), 0) + "/trade/size").size(), 5u);
}

// A prepared version has links to the files of its partition. If one of these was repaired or the
// day was written again since, the links lead to the old bytes.
TEST_F(PartitionMigrationTest, WhatIsPreparedIsMadeAgainIfThePartitionChanged) {
  for (const std::string changed : {"quote/size", "trade/venue", "trade/size"}) {
    SCOPED_TRACE(changed);
    Rewrite();
    const ColumnChange change = Cases()[3].change;
    StepKiller counting(SIZE_MAX);
    ASSERT_TRUE(Migrate(change, &counting).ok());
    Rewrite();
    StepKiller killer(SIZE_MAX - counting.left() - 12);
    ASSERT_FALSE(Migrate(change, &killer).ok());
    ASSERT_EQ((*Database::Open(db()))->problems().size(), 3u);
    const std::string path = fmt::format("{}/{}", DayOf(db(), 1), changed);
    std::string bytes = FileBytes(path);
    bytes.at(bytes.size() - 8) ^= 1;
    fs::remove(fs::path(path).parent_path() / ".checksums");
    PutFile(path + ".new", bytes);
    fs::rename(path + ".new", path);
    ASSERT_TRUE(Migrate(change).ok());
    if (changed == "trade/size") {
      const auto sizes = FixedColumn<int64_t>(path);
      EXPECT_EQ(sizes.at(3), ElementsAt<int32_t>(bytes, bytes.size() - 8, 1).at(0));
    } else {
      EXPECT_TRUE(FileBytes(path) == bytes);
    }
    EXPECT_TRUE((*Database::Open(db()))->problems().empty());
  }
}

TEST_F(PartitionMigrationTest, IsRefusedWhereDaysCannotBeExchanged) {
  Rewrite();
  class NoExchange : public StorageObserver {
   public:
    absl::Status Before(StorageStep step, const std::string&, size_t) override {
      return step == StorageStep::kExchange ? FailedPrecondition("cannot exchange")
                                            : absl::OkStatus();
    }
  } no_exchange;
  EXPECT_EQ(Migrate(Cases()[3].change, &no_exchange).status().code(),
            absl::StatusCode::kFailedPrecondition);
  for (const fs::directory_entry& each : fs::directory_iterator(db())) {
    EXPECT_FALSE(each.is_directory() && each.path().string().ends_with('$')) << each.path();
  }
  fs::create_directory(db() + "/moving.2024.01.29$");
  EXPECT_THAT(std::string(Message(Migrate(Cases()[3].change).status())), HasSubstr("balance"));
}

TEST_F(PartitionMigrationTest, ADayWithoutTheTableStaysWithoutIt) {
  Rewrite();
  fs::remove_all(DayOf(db(), 1) + "/trade");
  const absl::StatusOr<Migration> migrated = Migrate(Cases()[5].change);
  ASSERT_TRUE(migrated.ok()) << migrated.status();
  EXPECT_EQ(migrated->changed, 2u);
  EXPECT_EQ(migrated->without, 1u);
  EXPECT_FALSE(*FileExists(DayOf(db(), 1) + "/trade"));
  EXPECT_FALSE(*FileExists(db() + "/replaced.2024.01.30.0$"));
}

TEST_F(PartitionMigrationTest, ReadsDefaults) {
  EXPECT_EQ(*ParseDefault(Type::kLong, "-7"), Value::Long(-7));
  EXPECT_EQ(*ParseDefault(Type::kLong, ""), Value::Long(kNullLong));
  EXPECT_EQ(*ParseDefault(Type::kFloat, "0.5"), Value::Float(0.5));
  EXPECT_EQ(*ParseDefault(Type::kSymbol, "USD"), Value::Symbol("USD"));
  EXPECT_EQ(*ParseDefault(Type::kList, "a b"), Value::String("a b"));
  EXPECT_EQ(*ParseDefault(Type::kBoolean, "1"), Value::Boolean(true));
  EXPECT_EQ(*ParseDefault(Type::kDate, "2024.01.29"), Value::Date(8794));
  EXPECT_EQ(*ParseDefault(Type::kTimestamp, ""), Value::Timestamp(kNullLong));
  for (const auto& [type, text] : {std::pair(Type::kLong, "7x"), std::pair(Type::kShort, "70000"),
                                   std::pair(Type::kBoolean, "2"), std::pair(Type::kChar, "ab"),
                                   std::pair(Type::kTimestamp, "now")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseDefault(type, text).status())) << text;
  }
}

}  // namespace
}  // namespace tickstack::disk
