#pragma once

// A day of a database, rows that arrive late for it, and what a reader sees of both: for the tests
// of merges and of those who read meanwhile.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "disk/database.h"
#include "disk/database_check.h"
#include "disk/partition_merge.h"
#include "disk/partition_testing.h"
#include "disk/partition_writer.h"
#include "disk/storage.h"
#include "mem/tier.h"
#include "table/batch_testing.h"
#include "table/schema.h"
#include "table/symbols.h"
#include "table/table.h"

namespace tickstack::disk {

inline constexpr int32_t kDate = 8794;  // 2024.01.29
inline constexpr int64_t kDayNs = int64_t{kDate} * kNsPerDay;
inline constexpr std::string_view kTicks = "time p, sym s, size j, note *";

struct DayTick {
  int64_t time;
  std::string sym;
  int64_t size;

  std::string text() const { return fmt::format("{} {} {}", time - kDayNs, sym, size); }
};

// Tables of a process with ticks.
struct DayTables {
  std::shared_ptr<Table> Make(std::string_view name, std::string_view columns) {
    tables.push_back(*Table::Create(*ParseSchema(name, columns), &symbols,
                                    {tier.get(), {}, nullptr}, {.rows_per_chunk = 64}));
    return tables.back();
  }
  void AddTicks(std::string_view name, const std::vector<DayTick>& ticks,
                std::string_view columns = kTicks) {
    std::vector<int64_t> times, sizes;
    std::vector<std::string> syms, notes;
    for (const DayTick& tick : ticks) {
      times.push_back(tick.time);
      syms.push_back(tick.sym);
      sizes.push_back(tick.size);
      notes.push_back(std::string("\x0a\0\x01\0\0\0", 6) + static_cast<char>('a' + tick.size % 26));
    }
    const absl::Status added = Make(name, columns)
                                   ->Append(Batch(ticks.size())
                                                .Add(Type::kTimestamp, times)
                                                .AddSymbols(syms)
                                                .Add(Type::kLong, sizes)
                                                .AddItems(notes)
                                                .view());
    TS_CHECK(added.ok());
  }
  std::vector<Snapshot> Snapshots() const {
    std::vector<Snapshot> snapshots;
    for (const std::shared_ptr<Table>& table : tables) snapshots.push_back(table->TakeSnapshot());
    return snapshots;
  }
  std::vector<LateRows> Late() const {
    std::vector<LateRows> late;
    for (const Snapshot& table : Snapshots()) {
      late.push_back({table.schema().table, ReadRows(table)});
    }
    return late;
  }

  SymbolTable symbols;
  std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("t");
  std::vector<std::shared_ptr<Table>> tables;  // Destroyed before their tier.
};

// A table with the number of trades, as an example of a table that is made from ticks.
inline absl::StatusOr<std::vector<std::shared_ptr<Table>>> CountTrades(
    std::span<const Snapshot> merged, std::span<const std::string>, MergeMemory memory) {
  std::vector<std::shared_ptr<Table>> tables;
  for (const Snapshot& each : merged) {
    if (each.schema().table != "trade") continue;
    tables.push_back(*Table::Create(*ParseSchema("trade_count", "sym s, rows j"), memory.symbols,
                                    {memory.tier, {}, nullptr}));
    const std::vector<int64_t> rows = {static_cast<int64_t>(each.rows())};
    TS_RETURN_IF_ERROR(
        tables.back()->Append(Batch(1).AddSymbols({"all"}).Add(Type::kLong, rows).view()));
  }
  return tables;
}

// What a reader of a database sees of the day: its trades, and the row of trade_count.
struct SeenDay {
  std::vector<std::string> trades;
  int64_t counted = 0;
  friend bool operator==(const SeenDay&, const SeenDay&) = default;
};

inline absl::StatusOr<SeenDay> Look(const Database& database) {
  SeenDay seen;
  const auto column =
      [&](std::string_view table,
          std::string_view name) -> absl::StatusOr<std::shared_ptr<const ColumnFile>> {
    TS_ASSIGN_OR_RETURN(const SplayedTable* const part, database.FindPartitioned(table)->In(0));
    return part->Column(static_cast<size_t>(part->Find(name)));
  };
  TS_ASSIGN_OR_RETURN(const auto time, column("trade", "time"));
  TS_ASSIGN_OR_RETURN(const auto sym, column("trade", "sym"));
  TS_ASSIGN_OR_RETURN(const auto size, column("trade", "size"));
  for (uint64_t row = 0; row < time->rows(); ++row) {
    TS_ASSIGN_OR_RETURN(const Value at, time->ItemAt(row));
    TS_ASSIGN_OR_RETURN(const Value name, sym->ItemAt(row));
    TS_ASSIGN_OR_RETURN(const Value number, size->ItemAt(row));
    seen.trades.push_back(
        DayTick{at.as<int64_t>(), std::string(name.symbol()), number.as<int64_t>()}.text());
  }
  TS_ASSIGN_OR_RETURN(const auto counts, column("trade_count", "rows"));
  TS_ASSIGN_OR_RETURN(const Value counted, counts->ItemAt(0));
  seen.counted = counted.as<int64_t>();
  return seen;
}

// Allows some steps and refuses all later ones, like a kill.
class StepKiller : public StorageObserver {
 public:
  explicit StepKiller(size_t steps) : left_(steps) {}
  absl::Status Before(StorageStep, const std::string&, size_t) override {
    if (left_ == 0) return absl::UnavailableError("killed");
    --left_;
    return absl::OkStatus();
  }
  size_t left() const { return left_; }

 private:
  size_t left_;
};

// Refuses one kind of steps.
class RefusingStep : public StorageObserver {
 public:
  RefusingStep(StorageStep step, absl::Status error) : step_(step), error_(std::move(error)) {}
  absl::Status Before(StorageStep step, const std::string&, size_t) override {
    return step == step_ ? error_ : absl::OkStatus();
  }

 private:
  const StorageStep step_;
  const absl::Status error_;
};

inline const std::vector<DayTick> kOld = {{kDayNs + 10, "IBM", 1},
                                          {kDayNs + 20, "IBM", 2},
                                          {kDayNs + 20, "AAPL", 3},
                                          {kDayNs + 30, "AAPL", 4}};
inline const std::vector<DayTick> kLate = {{kDayNs + 20, "IBM", 5}, {kDayNs + 5, "NEW", 6}};
inline const std::vector<std::string> kBefore = {"20 AAPL 3", "30 AAPL 4", "10 IBM 1", "20 IBM 2"};
inline const std::vector<std::string> kAfter = {"20 AAPL 3", "30 AAPL 4", "10 IBM 1",
                                                "20 IBM 2",  "20 IBM 5",  "5 NEW 6"};
inline const SeenDay kSeenBefore = {kBefore, 4};
inline const SeenDay kSeenAfter = {kAfter, 6};

// The day before the newest one of a database, and late rows of its trades.
class DayWithLateRows : public testing::Test {
 protected:
  DayWithLateRows() : folder_(TemporaryFolder::InMemory()), late_(new DayTables) {
    late_->AddTicks("trade", kLate);
    WriteOld();
  }

  std::string db() const { return folder_ / "db"; }
  std::string day() const { return db() + "/2024.01.29"; }

  void WriteOld() {
    std::filesystem::remove_all(db());
    DayTables old;
    old.AddTicks("trade", kOld);
    old.AddTicks("quote", kOld);
    const std::vector<int64_t> rows = {static_cast<int64_t>(kOld.size())};
    TS_CHECK(old.Make("trade_count", "sym s, rows j")
                 ->Append(Batch(1).AddSymbols({"all"}).Add(Type::kLong, rows).view())
                 .ok());
    const std::vector<Snapshot> snapshots = old.Snapshots();
    // Opening a database opens the columns of its newest day.
    for (const int32_t date : {kDate, kDate + 1}) {
      TS_CHECK(WritePartition({.database = db(), .compression = {}}, date, snapshots).ok());
    }
  }
  MergeOptions Options(StorageObserver* observer = nullptr) const {
    MergeOptions options;
    options.writer.database = db();
    options.writer.observer = observer;
    options.source = {0x1234, 99, "late.log"};
    options.derive = CountTrades;
    return options;
  }
  absl::StatusOr<MergedPartition> Merge(StorageObserver* observer = nullptr) const {
    return MergePartition(Options(observer), kDate, late_->Late());
  }
  SeenDay SeenNow() const {
    const auto database = Database::Open(db());
    TS_CHECK(database.ok());
    const absl::StatusOr<SeenDay> seen = Look(**database);
    EXPECT_TRUE(seen.ok()) << seen.status();
    return seen.value_or(SeenDay());
  }
  void ExpectSound() const {
    WorkerPool none(0);
    const absl::StatusOr<DatabaseCheck> check = CheckDatabase(db(), none);
    ASSERT_TRUE(check.ok()) << check.status();
    EXPECT_TRUE(check->is_sound()) << check->findings.front().path << check->findings.front().what;
  }
  std::vector<std::string> Entries() const {
    std::vector<std::string> names;
    for (const std::filesystem::directory_entry& each : std::filesystem::directory_iterator(db())) {
      const std::string name = each.path().filename();
      if (each.is_directory() && name != "2024.01.30") names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
  }

  const TemporaryFolder folder_;
  const std::unique_ptr<DayTables> late_;
};

}  // namespace tickstack::disk
