// Runs queries whose scratch memory is a file: scratch_bench [DIR [ROWS]]
//
// A table of 20 million rows (time, a unique unordered id, a price) is in a filesystem tier in DIR,
// by default the directory for temporary files. Queries that group, sort or copy all of it run with
// their scratch memory in a second such tier, while RLIMIT_DATA allows the process 4 bytes per row
// of anonymous memory: an evaluation that built its vectors there would end the process. Then they
// run with malloc's memory, without the limit. Prints both times, the tier's high water mark and
// the peak of anonymous memory, and checks that
//   - both answers are equal,
//   - anonymous memory stayed below a tenth of what the query built in the tier.
//
// The bound is the pages of the file. On tmpfs or DAX a page fault costs as much as malloc's; on a
// disk, the page cache takes the writes, and larger amounts are bounded by the disk's write-back.

#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/status.h"
#include "mem/tier.h"
#include "mem/tier_scratch.h"
#include "query/query.h"
#include "table/table.h"

namespace tickstack::query {
namespace {

constexpr size_t kBatchRows = 100'000;

std::unique_ptr<mem::Tier> OpenTierOf(const std::string& name, const std::string& directory,
                                      size_t bytes) {
  mem::TierOptions options;
  options.name = name;
  options.kind = mem::TierKind::kFilesystem;
  options.path = directory;
  options.capacity_bytes = bytes;
  absl::StatusOr<std::unique_ptr<mem::Tier>> tier = mem::OpenTier(options);
  if (!tier.ok()) {
    fmt::print(stderr, "{}\n", Message(tier.status()));
    std::exit(1);
  }
  return *std::move(tier);
}

class OneTable : public Environment {
 public:
  OneTable(mem::Tier* tier, size_t rows) {
    const Schema schema = *ParseSchema("t", "time p, id j, price f");
    table_ = *Table::Create(schema, &symbols_, TablePlacement{tier, {}, nullptr});
    for (size_t begin = 0; begin < rows; begin += kBatchRows) Append(begin);
  }
  std::optional<Snapshot> FindTable(std::string_view name) override {
    return name == "t" ? std::optional(table_->TakeSnapshot()) : std::nullopt;
  }
  std::vector<std::string> TableNames() override { return {"t"}; }
  int64_t NowNs() override { return 0; }

 private:
  void Append(size_t begin) {
    ByteBuffer times, ids, prices;
    for (size_t row = begin; row < begin + kBatchRows; ++row) {
      times.AppendLittle(static_cast<int64_t>(row));
      // An odd factor makes them unique.
      ids.AppendLittle(static_cast<int64_t>(row * 0x9E37'79B9'7F4A'7C15u));
      prices.AppendLittle(static_cast<double>(row % 1000));
    }
    const std::vector<ColumnView> columns = {
        {Type::kTimestamp, Attribute::kNone, kBatchRows, times.span()},
        {Type::kLong, Attribute::kNone, kBatchRows, ids.span()},
        {Type::kFloat, Attribute::kNone, kBatchRows, prices.span()}};
    TS_CHECK(table_->Append({columns, kBatchRows}).ok());
  }

  SymbolTable symbols_;
  std::shared_ptr<Table> table_;
};

size_t StatusBytes(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stoull(line.substr(field.size())) << 10;
  }
  return 0;
}

void LimitData(rlim_t bytes) {
  rlimit limit{};
  TS_CHECK(getrlimit(RLIMIT_DATA, &limit) == 0);
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  TS_CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
}

// Polls anonymous memory every millisecond and keeps the peak until Stop().
class AnonymousPeak {
 public:
  AnonymousPeak()
      : before_(StatusBytes("RssAnon:")), watcher_([this] {
          while (!done_.load(std::memory_order_relaxed)) {
            peak_ = std::max(peak_, StatusBytes("RssAnon:"));
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}
  // Returns the growth in bytes since the start.
  size_t Stop() {
    done_.store(true, std::memory_order_relaxed);
    watcher_.join();
    return peak_ > before_ ? peak_ - before_ : 0;
  }

 private:
  const size_t before_;
  size_t peak_ = 0;  // Owned by the polling thread until it is joined.
  std::atomic<bool> done_{false};
  std::thread watcher_;
};

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

Value MustEvaluate(std::string_view text, Environment& environment, const Limits& limits) {
  absl::StatusOr<Value> answer = Evaluate(text, environment, limits);
  if (!answer.ok()) {
    fmt::print(stderr, "{}: {}\n", text, Message(answer.status()));
    std::exit(1);
  }
  return *std::move(answer);
}

void Compare(std::string_view text, OneTable& table, mem::Tier& tier, size_t data_bytes) {
  mem::TierScratch scratch(&tier);
  Limits limits;
  limits.max_result_bytes = SIZE_MAX;
  limits.scratch = &scratch;
  AnonymousPeak anonymous;
  LimitData(StatusBytes("VmData:") + data_bytes);
  const auto begin = std::chrono::steady_clock::now();
  const Value in_tier = MustEvaluate(text, table, limits);
  const double tier_seconds = Seconds(begin);
  LimitData(RLIM_INFINITY);
  const size_t anonymous_bytes = anonymous.Stop();
  const size_t tier_bytes = tier.Stats().high_water_bytes;

  limits.scratch = nullptr;
  const auto malloc_begin = std::chrono::steady_clock::now();
  const Value in_malloc = MustEvaluate(text, table, limits);
  const double malloc_seconds = Seconds(malloc_begin);
  fmt::print(
      "{:<36} tier {:6.2f} s  malloc {:6.2f} s  ratio {:.2f}  tier's high water {} MB  "
      "anonymous {} MB\n",
      text, tier_seconds, malloc_seconds, malloc_seconds / tier_seconds, tier_bytes >> 20,
      anonymous_bytes >> 20);
  std::fflush(stdout);
  TS_CHECK(in_tier == in_malloc);
  TS_CHECK(anonymous_bytes < data_bytes && anonymous_bytes * 10 < tier_bytes);
}

int Main(int argc, char** argv) {
  std::string directory = std::filesystem::temp_directory_path().string();
  size_t rows = 20'000'000;
  CLI::App app("Queries whose intermediate results are in a file-backed tier or in DRAM");
  app.add_option("directory", directory, "Of the tiers' files")->capture_default_str();
  app.add_option("rows", rows)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  rows = rows / kBatchRows * kBatchRows;
  const auto columns = OpenTierOf("columns", directory, rows * 24 + (size_t{64} << 20));
  OneTable table(columns.get(), rows);
  fmt::print("{} rows, {} MB of columns in {}\n", rows, columns->Stats().used_bytes >> 20,
             directory);
  for (const std::string_view text :
       {"select by id from t", "select from t where price>=0", "distinct exec id from t"}) {
    // A tier for each query, so that its high water mark is this query's, and all of its pages are
    // fresh.
    const auto scratch = OpenTierOf("query", directory, rows * 200 + (size_t{256} << 20));
    Compare(text, table, *scratch, rows * 4);
    TS_CHECK(scratch->Stats().used_bytes == 0);
  }
  return 0;
}

}  // namespace
}  // namespace tickstack::query

int main(int argc, char** argv) { return tickstack::query::Main(argc, argv); }
