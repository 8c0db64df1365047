#include "cli/hdb_generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/name_map.h"
#include "base/status.h"
#include "base/time.h"
#include "base/worker_pool.h"
#include "disk/compression.h"
#include "disk/partition_writer.h"
#include "feed/sources/sim_source.h"
#include "mem/tier.h"
#include "table/schema.h"
#include "table/table.h"
#include "wire/upd.h"

namespace tickstack::cli {
namespace {

// Updates of a day are spread evenly from 14:30 to 21:00 UTC, when New York's exchanges are open in
// winter.
constexpr int64_t kOpenNs = 14 * 3'600 * kNsPerSecond + 1'800 * kNsPerSecond;
constexpr double kDaySeconds = 6.5 * 3'600;
constexpr int64_t kQuotesPerTrade = 10;

// The last date all of whose times are timestamps: they reach from 1707.09.23 to 2292.04.10.
constexpr auto kDateMax = static_cast<int32_t>(INT64_MAX / kNsPerDay);
constexpr int kGenerateWrongUsage = 2;

bool IsWeekend(int32_t date) { return ((date % 7) + 7) % 7 < 2; }  // 2000.01.01 is a Saturday.

class DayMaker {
 public:
  DayMaker(const HdbGenerateOptions& options, disk::PartitionWriterOptions writer)
      : options_(options), writer_(std::move(writer)), tier_(mem::MakeDramTier("day")) {}

  absl::Status Make(int32_t date);

 private:
  // A simulated market and its state at the end of each table, from which the next day continues.
  struct Market {
    int64_t updates = 0;
    NameMap<int64_t> rows;
  };

  // Adds the next `rows` updates of a market; `only`: those of one table.
  absl::Status Fill(int32_t date, int64_t rows, std::string_view only, Market& market,
                    std::span<const std::shared_ptr<Table>> tables);

  const HdbGenerateOptions& options_;
  const disk::PartitionWriterOptions writer_;
  const std::unique_ptr<mem::Tier> tier_;
  SymbolTable symbols_;
  wire::UpdDecoder decoder_;
  Market quoted_;  // Both tables, if there are ten quotes to a trade.
  Market traded_;
};

absl::Status DayMaker::Fill(int32_t date, int64_t rows, std::string_view only, Market& market,
                            std::span<const std::shared_ptr<Table>> tables) {
  if (rows == 0) return absl::OkStatus();
  market.updates += rows;
  feed::SimOptions source_options;
  source_options.rows = market.updates;
  // The simulated market's lowest rate, in updates/s. Fewer rows still span the same hours.
  constexpr double kSlowestRate = 0.001;
  source_options.rate = std::max(kSlowestRate, static_cast<double>(rows) / kDaySeconds);
  source_options.symbols = options_.symbols;
  source_options.seed = options_.seed;
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<feed::Source> source, source_options.Open());
  const int64_t open_ns = int64_t{date} * kNsPerDay + kOpenNs;
  TS_RETURN_IF_ERROR(source->Rewind(market.rows));
  source->Start(open_ns);
  while (source->next_due_ns() != feed::kNeverDue) {
    TS_ASSIGN_OR_RETURN(const feed::FeedBatch* const batch, source->Next(open_ns + kNsPerDay));
    if (batch == nullptr) continue;
    market.rows[std::string(batch->table)] = batch->first_row + batch->rows;
    if (!only.empty() && batch->table != only) continue;
    const auto table = std::ranges::find_if(
        tables, [&](const auto& each) { return each->schema().table == batch->table; });
    if (table == tables.end()) return NotFound("{}: no such table", batch->table);
    wire::RowsView decoded;
    TS_RETURN_IF_ERROR(decoder_.DecodeX(batch->data, &decoded, (*table)->schema().columns.size()));
    TS_RETURN_IF_ERROR((*table)->Append(decoded.batch));
  }
  return absl::OkStatus();
}

absl::Status DayMaker::Make(int32_t date) {
  TS_ASSIGN_OR_RETURN(const std::string there, disk::FindPartition(options_.directory, date));
  if (!there.empty()) return FailedPrecondition("{}: is there already", there);
  std::vector<std::shared_ptr<Table>> tables;
  for (const Schema& schema : DefaultSchemas()) {
    TS_ASSIGN_OR_RETURN(std::shared_ptr<Table> table,
                        Table::Create(schema, &symbols_, {tier_.get(), {}, nullptr}));
    tables.push_back(std::move(table));
  }
  const int64_t quotes = options_.quotes, quoted = quotes + quotes / kQuotesPerTrade;
  if (options_.trades < 0) {
    TS_RETURN_IF_ERROR(Fill(date, quoted, "", quoted_, tables));
  } else {
    // The market has ten quotes to a trade: any other ratio needs two markets.
    TS_RETURN_IF_ERROR(Fill(date, quoted, "quote", quoted_, tables));
    TS_RETURN_IF_ERROR(
        Fill(date, options_.trades * (kQuotesPerTrade + 1), "trade", traded_, tables));
  }
  std::vector<Snapshot> snapshots;
  for (const auto& table : tables) snapshots.push_back(table->TakeSnapshot());
  const int64_t begin_ns = MonotonicNs();
  TS_ASSIGN_OR_RETURN(const disk::WrittenPartition written,
                      disk::WritePartition(writer_, date, snapshots));
  std::string counts;
  for (const auto& table : written.tables) {
    counts += fmt::format(" {}={}", table.table, table.rows);
  }
  std::fprintf(stderr, "%s%s bytes=%llu write_ms=%lld\n", written.path.c_str(), counts.c_str(),
               static_cast<unsigned long long>(written.bytes),
               static_cast<long long>((MonotonicNs() - begin_ns) / 1'000'000));
  return absl::OkStatus();
}

// Returns the requested weekdays.
absl::StatusOr<std::vector<int32_t>> DatesOf(const HdbGenerateOptions& options) {
  const std::optional<int32_t> from = ParseDate(options.from);
  if (!from.has_value()) {
    return InvalidArgument("--from: expected a date such as 2024.01.01, found \"{}\"",
                           options.from);
  }
  std::vector<int32_t> dates;
  for (int32_t date = *from; std::ssize(dates) < options.days; ++date) {
    if (date < -kDateMax || date > kDateMax) {
      return InvalidArgument("--from {} --days {}: expected days from {} to {}, found {}",
                             options.from, options.days, FormatDate(-kDateMax),
                             FormatDate(kDateMax), FormatDate(date));
    }
    if (!IsWeekend(date)) dates.push_back(date);
  }
  return dates;
}

absl::Status Generate(const HdbGenerateOptions& options, const std::vector<int32_t>& dates,
                      const disk::CompressionOptions& compression) {
  WorkerPool workers(std::max(1u, std::thread::hardware_concurrency()) - 1);
  disk::PartitionWriterOptions writer;
  writer.database = options.directory;
  writer.workers = &workers;
  writer.compression.Set("default", compression);
  DayMaker maker(options, writer);
  for (const int32_t date : dates) TS_RETURN_IF_ERROR(maker.Make(date));
  return absl::OkStatus();
}

int GenerateFailed(const absl::Status& status, int code) {
  std::fprintf(stderr, "%s\n", std::string(Message(status)).c_str());
  return code;
}

}  // namespace

int RunHdbGenerate(const HdbGenerateOptions& options) {
  const absl::StatusOr<std::vector<int32_t>> dates = DatesOf(options);
  if (!dates.ok()) return GenerateFailed(dates.status(), kGenerateWrongUsage);
  const absl::StatusOr<disk::CompressionOptions> compression =
      disk::ParseCompression(options.compression);
  if (!compression.ok()) return GenerateFailed(compression.status(), kGenerateWrongUsage);
  const absl::Status status = Generate(options, *dates, *compression);
  return status.ok() ? 0 : GenerateFailed(status, 1);
}

}  // namespace tickstack::cli
