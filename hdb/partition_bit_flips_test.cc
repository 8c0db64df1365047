// Flips single bits in the files of a database and compares every answer with that of the undamaged
// one: an answer is the same, or an error that names the file.
//
// TICKSTACK_FLIPS sets the number of flips, TICKSTACK_SEED the first seed. Each flip has its own
// seed, which a failure prints.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "disk/database_check.h"
#include "disk/partition_writer.h"
#include "hdb/hdb.h"
#include "hdb/hdb_environment.h"
#include "mem/tier.h"
#include "query/columns/errors.h"
#include "table/batch_testing.h"
#include "table/codec.h"
#include "tests/support/environment.h"

namespace tickstack::hdb {
namespace {

constexpr int32_t kFirstDay = 8766;  // 2024.01.01

constexpr std::string_view kQueries[] = {
    "select from trade where date=2024.01.01",
    "select from trade where date=2024.01.02",
    "select from daily",
    "select n:count i,sum size,avg price,last note by date,sym from trade",
    "select max price by sym from trade where size>500",
    "exec sum size from trade where price>50",
    "select from trade where sym=`s3,time within 0D00:00:01 0D00:00:03",
    "select last price by venue from trade where date=2024.01.02,sym in `s0`s5",
    "select count i by venue from trade where note like \"*7*\"",
    "nbbo[`sym`venue`price`price;select from trade where date=2024.01.01]",
    "trade 11000 3 17000",
    "-3#select time,deltas price by sym from trade where date=2024.01.01",
    "meta trade",
    "count trade",
    "date",
};

class BitFlips : public testing::TestWithParam<disk::Compression> {
 protected:
  BitFlips() : root_(std::filesystem::temp_directory_path() / "tickstack.XXXXXX") {
    InitLogging("test", LogLevel::kOff);
    TS_CHECK(::mkdtemp(root_.data()) != nullptr);
    for (int day = 0; day < 2; ++day) WriteDay(day);
  }
  ~BitFlips() override { std::filesystem::remove_all(root_); }

  void WriteDay(int day) {
    constexpr size_t kRows = 12'000;  // More than one block of most columns.
    std::mt19937_64 random(static_cast<uint64_t>(day));
    std::vector<int64_t> times(kRows), sizes(kRows);
    std::vector<double> prices(kRows);
    std::vector<std::string> names(kRows), venues(kRows), notes(kRows);
    for (size_t i = 0; i < kRows; ++i) {
      times[i] = static_cast<int64_t>(i) * 1'000'000;
      sizes[i] = static_cast<int64_t>(random() % 1000);
      prices[i] = static_cast<double>(random() % 10'000) / 100;
      names[i] = fmt::format("s{}", random() % 8);
      venues[i] = fmt::format("v{}", random() % 3);
      const std::string text = fmt::format("note {}", random() % 100);
      ByteBuffer item;
      Encode(Value::String(text), item);
      notes[i] = AsText(item.span());
    }
    std::shared_ptr<Table> trade =
        *Table::Create(*ParseSchema("trade", "time n, sym s, price f, size j, venue s, note *"),
                       &symbols_, {tier_.get(), {}, nullptr});
    Batch batch(kRows);
    batch.Add(Type::kTimespan, times).AddSymbols(names).Add(Type::kFloat, prices);
    batch.Add(Type::kLong, sizes).AddSymbols(venues).AddItems(notes);
    TS_CHECK(trade->Append(batch.view()).ok());
    std::shared_ptr<Table> daily = *Table::Create(*ParseSchema("daily", "sym s, high f"), &symbols_,
                                                  {tier_.get(), {}, nullptr});
    Batch few(3);
    few.AddSymbols({"s2", "s1", "s0"}).Add(Type::kFloat, std::vector<double>{1, 2, 3});
    TS_CHECK(daily->Append(few.view()).ok());
    const Snapshot tables[] = {trade->TakeSnapshot(), daily->TakeSnapshot()};
    disk::PartitionWriterOptions options;
    options.database = root_;
    if (GetParam() != disk::Compression::kNone) {
      options.compression.Set("default", {GetParam(), 1, 13});
    }
    TS_CHECK(disk::WritePartition(options, kFirstDay + day, tables).ok());
  }

  // Answers of a database that is opened anew: encoded values, or errors.
  struct Answers {
    std::vector<std::string> values;  // Empty for an error.
    std::vector<std::string> errors;  // Empty for a value.
    std::string problems;             // What loading omitted.
  };
  Answers Ask() {
    Answers answers;
    Hdb hdb(root_);
    HdbEnvironment environment(&hdb, &clock_);
    if (const absl::Status loaded = hdb.Reload(); !loaded.ok()) {
      answers.problems = Message(loaded);
    }
    for (const std::string_view query : kQueries) {
      const absl::StatusOr<Value> answer =
          query::EvaluateRequest(Value::String(query), environment);
      ByteBuffer bytes;
      if (answer.ok()) Encode(*answer, bytes);
      answers.values.emplace_back(AsText(bytes.span()));
      answers.errors.push_back(answer.ok() ? "" : query::QErrorText(answer.status()));
    }
    const absl::StatusOr<Value> problems =
        query::EvaluateRequest(Value::String("raze .hdb.problems[]"), environment);
    if (problems.ok() && problems->is(Type::kChar)) answers.problems += problems->text();
    return answers;
  }

  static void Flip(const std::string& path, uint64_t bit) {
    const std::filesystem::file_time_type time = std::filesystem::last_write_time(path);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    char byte;
    file.seekg(static_cast<std::streamoff>(bit / 8)).get(byte);
    byte = static_cast<char>(byte ^ (1 << (bit % 8)));
    file.seekp(static_cast<std::streamoff>(bit / 8)).put(byte);
    file.close();
    std::filesystem::last_write_time(path, time);
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
      if (entry.is_regular_file() && entry.file_size() > 0) files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files;
  }

  std::string root_;
  ManualClock clock_{0};
  SymbolTable symbols_;
  std::unique_ptr<mem::Tier> tier_ = mem::MakeDramTier("t");
};

// Goal: no wrong answer. Method: half of the flips choose a file first and half a byte, so that
// small files get their share.
TEST_P(BitFlips, AreNamedOrHarmless) {
  const Answers whole = Ask();
  for (size_t q = 0; q < std::size(kQueries); ++q) {
    ASSERT_EQ(whole.errors[q], "") << kQueries[q];
  }
  const std::vector<std::string> files = Files();
  uint64_t all_bytes = 0;
  for (const std::string& file : files) all_bytes += std::filesystem::file_size(file);
  const uint64_t flips = NumberFromEnvironment("TICKSTACK_FLIPS", 200);
  const uint64_t first_seed = NumberFromEnvironment("TICKSTACK_SEED", 1);
  uint64_t named = 0, harmless = 0;
  std::map<std::string, uint64_t> harmless_of;
  for (uint64_t seed = first_seed; seed < first_seed + flips; ++seed) {
    std::mt19937_64 random(seed);
    size_t number = random() % files.size();
    uint64_t byte = random() % std::filesystem::file_size(files[number]);
    if (seed % 2 == 0) {
      byte = random() % all_bytes;
      for (number = 0; byte >= std::filesystem::file_size(files[number]); ++number) {
        byte -= std::filesystem::file_size(files[number]);
      }
    }
    const std::string& path = files[number];
    const uint64_t bit = byte * 8 + random() % 8;
    SCOPED_TRACE(fmt::format("seed {}: {}: byte {}, bit {}", seed, path, byte, bit % 8));
    Flip(path, bit);
    const Answers damaged = Ask();
    Flip(path, bit);
    // The name in errors: of the file, or of its checksums.
    std::string name = path;
    if (name.ends_with("/.checksums") || name.ends_with(".checksums$")) {
      name = name.substr(0, name.rfind(".checksums"));
    }
    bool is_named = damaged.problems.find(name) != std::string::npos;
    bool has_error = false;
    for (size_t q = 0; q < std::size(kQueries); ++q) {
      if (damaged.errors[q].empty()) {
        EXPECT_TRUE(damaged.values[q] == whole.values[q]) << "a wrong answer: " << kQueries[q];
      } else {
        has_error = true;
        is_named = is_named || damaged.errors[q].find(name) != std::string::npos;
      }
    }
    EXPECT_TRUE(is_named || !has_error) << "errors without the file's name";
    is_named ? ++named : ++harmless;
    if (!is_named) ++harmless_of[path.substr(root_.size())];
    if (HasFailure()) break;
  }
  fmt::print("{} flips of {} bytes in {} files: {} named, {} harmless, seeds {} to {}\n", flips,
             all_bytes, files.size(), named, harmless, first_seed, first_seed + flips - 1);
  for (const auto& [file, count] : harmless_of) fmt::print("  harmless in {}: {}\n", file, count);
  EXPECT_EQ(Ask().values, whole.values);
}

TEST_P(BitFlips, AreFoundByTheCheck) {
  WorkerPool workers(1);
  EXPECT_TRUE(disk::CheckDatabase(root_, workers)->is_sound());
  EXPECT_EQ(disk::CheckDatabase(root_, workers)->unchecksummed_tables, 0U);
  const std::vector<std::string> files = Files();
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    const std::string& path = files[random() % files.size()];
    if (path.ends_with(".lock$")) continue;
    const uint64_t bit = random() % (std::filesystem::file_size(path) * 8);
    SCOPED_TRACE(fmt::format("seed {}: {}: bit {}", seed, path, bit));
    Flip(path, bit);
    const absl::StatusOr<disk::DatabaseCheck> check = disk::CheckDatabase(root_, workers);
    Flip(path, bit);
    ASSERT_TRUE(check.ok()) << check.status();
    EXPECT_FALSE(check->is_sound());
    EXPECT_TRUE(std::ranges::any_of(check->findings, [&](const disk::Finding& finding) {
      return path.starts_with(finding.path);
    }));
  }
  EXPECT_TRUE(disk::CheckDatabase(root_, workers)->is_sound());
}

// Goal: damage costs only the queries that read its block.
TEST_P(BitFlips, LeaveTheRestOfTheTable) {
  if (GetParam() != disk::Compression::kNone) return;  // Its blocks are of other sizes.
  const std::string path = root_ + "/2024.01.01/trade/price";
  Flip(path, (16 + 11'000 * 8) * 8);  // In its second block, of two.
  Hdb hdb(root_);
  HdbEnvironment environment(&hdb, &clock_);
  ASSERT_TRUE(hdb.Reload().ok());
  const auto error_of = [&](std::string_view query) {
    const absl::StatusOr<Value> answer = query::EvaluateRequest(Value::String(query), environment);
    return answer.ok() ? "" : query::QErrorText(answer.status());
  };
  EXPECT_EQ(error_of("select sum size by sym from trade"), "");
  EXPECT_EQ(error_of("select sum price by sym from trade where date=2024.01.02"), "");
  EXPECT_EQ(error_of("select sum price from trade where sym=`s0"), "");
  EXPECT_EQ(error_of("select[5000] from trade where date=2024.01.01"), "");
  for (const std::string_view query :
       {"select sum price from trade", "select from trade where date=2024.01.01",
        "select sum price from trade where sym=`s7", "exec price from trade where size>500",
        "select max size from trade where price>10", "select from trade where i=11000"}) {
    const std::string error = error_of(query);
    EXPECT_NE(error.find(path + ": byte 65536: block 1 (rows 8190 to 11999, "), std::string::npos)
        << query << ": " << error;
  }
}

INSTANTIATE_TEST_SUITE_P(Compressed, BitFlips,
                         testing::Values(disk::Compression::kNone, disk::Compression::kLz4,
                                         disk::Compression::kIpc));

}  // namespace
}  // namespace tickstack::hdb
