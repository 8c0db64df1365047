// full_scale: a real day on a small machine. It loads 650 million quotes and 85 million trades,
// some 45 GB with their index, into a tier of files on a disk. Then it asks for the count, the last
// row, and the as-of join of one liquid symbol, as a client would.
//
//   full_scale --dir DIR [--quotes N] [--trades N] [--rank N] [--json]
//
// Every answer is checked: counts and last rows with what the generator handed out, the join with a
// merge of the two raw columns, which reads every row instead of the index.
//
// Estimate. Each byte of a row is written once by this program, and once more by the kernel to the
// disk. Once the memory is full, every further byte of page cache waits for the disk.

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "base/time.h"
#include "bench/day_batches.h"
#include "bench/measured_machine.h"
#include "query/query.h"
#include "table/table.h"

namespace tickstack::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kOpenNs = 637'075'800 * kNsPerSecond;  // 2020.03.09D13:30, New York's 09:30.
constexpr int64_t kDayNs = 23'400 * kNsPerSecond;
constexpr size_t kBatchRows = 2400;
// Bytes per row: row, index, and waste from rounding.
constexpr size_t kQuoteRoomBytes = 64;
constexpr size_t kTradeRoomBytes = 46;
constexpr size_t kOtherRoomBytes = size_t{512} << 20;
constexpr size_t kTouchAheadBytes = size_t{256} << 20;
// Bytes of a disk that stay free for others.
constexpr size_t kSpareBytes = size_t{2} << 30;

struct Settings {
  std::string directory;
  size_t quotes = 650'000'000;
  size_t trades = 85'000'000;
  size_t rank = 10;
  bool json = false;
};

double Seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "full_scale: %s\n", why.c_str());
  std::exit(1);
}

// One captured table and its generator.
class Captured {
 public:
  Captured(const Schema& schema, size_t rows, uint64_t seed, mem::Tier* tier, SymbolTable* symbols)
      : rows_wanted_(rows), batches_(schema, Options(rows, seed)) {
    TablePlacement placement;
    placement.columns = tier;
    table_ = *Table::Create(schema, symbols, placement);
  }

  bool done() const { return table_->rows() >= rows_wanted_; }
  int64_t NextNs() const { return batches_.TimeOf(table_->rows()); }
  void AppendBatch() {
    const absl::Status status = table_->Append(batches_.Next());
    if (!status.ok()) Fail(std::string(Message(status)));
  }

  const DayBatches& batches() const { return batches_; }
  const Table& table() const { return *table_; }
  Snapshot TakeSnapshot() const { return table_->TakeSnapshot(); }

 private:
  static DayBatchOptions Options(size_t rows, uint64_t seed) {
    DayBatchOptions options;
    options.rows_per_batch = kBatchRows;
    options.open_ns = kOpenNs;
    options.step_ns = std::max<int64_t>(1, kDayNs / static_cast<int64_t>(rows));
    options.seed = seed;
    return options;
  }

  const size_t rows_wanted_;
  DayBatches batches_;
  std::shared_ptr<Table> table_;
};

class Day final : public query::Environment {
 public:
  Day(const Settings& settings, mem::Tier* tier)
      : quote_(DefaultSchemas()[1], settings.quotes, 1, tier, &symbols_),
        trade_(DefaultSchemas()[0], settings.trades, 2, tier, &symbols_) {}

  std::optional<Snapshot> FindTable(std::string_view name) override {
    if (name == "trade") return trade_.TakeSnapshot();
    if (name == "quote") return quote_.TakeSnapshot();
    return std::nullopt;
  }
  std::vector<std::string> TableNames() override { return {"quote", "trade"}; }
  int64_t NowNs() override { return kOpenNs + kDayNs; }

  // Appends a batch; the two tables advance through the day together.
  bool AppendBatch() {
    if (quote_.done() && trade_.done()) return false;
    const bool quote_next = trade_.done() || (!quote_.done() && quote_.NextNs() <= trade_.NextNs());
    (quote_next ? quote_ : trade_).AppendBatch();
    return true;
  }
  size_t rows() const { return quote_.table().rows() + trade_.table().rows(); }

  const Captured& quote() const { return quote_; }
  const Captured& trade() const { return trade_; }
  const SymbolTable& symbols() const { return symbols_; }

 private:
  SymbolTable symbols_;
  Captured quote_;
  Captured trade_;
};

// An answer and its duration.
struct Answer {
  Value value;
  double seconds;
};

Answer Ask(Day& day, const std::string& text) {
  query::Limits limits;
  limits.max_result_bytes = size_t{4} << 30;
  const int64_t begin_ns = MonotonicNs();
  absl::StatusOr<Value> value = query::Evaluate(text, day, limits);
  if (!value.ok()) Fail(fmt::format("`{}`: {}", text, Message(value.status())));
  return {*std::move(value), Seconds(MonotonicNs() - begin_ns)};
}

void Expect(bool holds, const std::string& what) {
  if (!holds) Fail("wrong answer: " + what);
}

// The rows of a symbol, found by reading the whole column.
struct Found {
  std::vector<int64_t> time_ns;
  std::vector<double> price;
};
Found ReadEveryRow(const Captured& captured, SymbolId symbol, const char* price) {
  const Snapshot snapshot = captured.TakeSnapshot();
  const auto column = [&](const char* name) {
    return static_cast<size_t>(snapshot.schema().Find(name));
  };
  const size_t sym_column = column("sym"), time_column = column("time");
  const size_t price_column = column(price);
  Found found;
  for (size_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
    const auto symbols = snapshot.Chunk<SymbolId>(sym_column, chunk);
    const auto times = snapshot.Chunk<int64_t>(time_column, chunk);
    const auto prices = snapshot.Chunk<double>(price_column, chunk);
    for (size_t i = 0; i < symbols.size(); ++i) {
      if (symbols[i] != symbol) continue;
      found.time_ns.push_back(times[i]);
      found.price.push_back(prices[i]);
    }
  }
  return found;
}

void CheckJoin(const Value& joined, const Found& trades, const Found& quotes) {
  const Value* const times = joined.FindColumn("time");
  const Value* const bids = joined.FindColumn("bid");
  Expect(times != nullptr && bids != nullptr && joined.count() == trades.time_ns.size(),
         fmt::format("the join has {} rows, {} trades", joined.count(), trades.time_ns.size()));
  size_t after = 0;  // First quote after the trade.
  for (size_t i = 0; i < trades.time_ns.size(); ++i) {
    while (after < quotes.time_ns.size() && quotes.time_ns[after] <= trades.time_ns[i]) ++after;
    const double bid = bids->span<double>()[i];
    const bool right = after == 0 ? bid != bid : bid == quotes.price[after - 1];
    Expect(right && times->span<int64_t>()[i] == trades.time_ns[i],
           fmt::format("trade {} of the join has bid {}", i, bid));
  }
}

Json Query(const Settings& settings, Day& day) {
  const std::string name = day.quote().batches().NameOf(settings.rank - 1);
  const size_t quotes_of = day.quote().batches().RowsOf(name);
  const size_t trades_of = day.trade().batches().RowsOf(name);
  Json found = {{"symbol", name}, {"symbol_quotes", quotes_of}, {"symbol_trades", trades_of}};

  for (const Captured* captured : {&day.quote(), &day.trade()}) {
    const std::string table = captured->table().schema().table;
    const Answer count = Ask(day, "count " + table);
    Expect(count.value.as<int64_t>() == static_cast<int64_t>(captured->batches().rows()),
           fmt::format("count {} is {}", table, count.value.as<int64_t>()));
    const Answer last = Ask(day, fmt::format("exec last time from {} where sym=`{}", table, name));
    const int64_t expected_ns = captured->batches().TimeOf(captured->batches().LastRowOf(name));
    Expect(last.value.as<int64_t>() == expected_ns,
           fmt::format("the last {} of {} is at {}", table, name, last.value.as<int64_t>()));
    found["last_" + table + "_s"] = last.seconds;
  }

  const std::string join = fmt::format(
      "aj[`sym`time;select sym,time,price,size from trade where sym=`{0};"
      "select sym,time,bid,ask from quote where sym=`{0}]",
      name);
  const Answer first = Ask(day, join);
  const Answer again = Ask(day, join);
  Expect(first.value == again.value, "the join is not the same twice");
  found["asof_first_s"] = first.seconds;
  found["asof_again_s"] = again.seconds;

  const int64_t begin_ns = MonotonicNs();
  const SymbolId symbol = *day.symbols().Find(name);
  const Found quotes = ReadEveryRow(day.quote(), symbol, "bid");
  const Found trades = ReadEveryRow(day.trade(), symbol, "price");
  found["read_every_row_s"] = Seconds(MonotonicNs() - begin_ns);
  Expect(quotes.time_ns.size() == quotes_of && trades.time_ns.size() == trades_of,
         fmt::format("{} quotes and {} trades of {} in the columns", quotes.time_ns.size(),
                     trades.time_ns.size(), name));
  CheckJoin(first.value, trades, quotes);
  found["checked"] = true;
  return found;
}

size_t FreeBytes(const std::string& directory) {
  struct statvfs stats{};
  if (::statvfs(directory.c_str(), &stats) != 0) Fail(directory + ": no file system answers");
  return stats.f_bavail * stats.f_frsize;
}

double Gigabytes(size_t bytes) { return static_cast<double>(bytes) / 1e9; }

Json Load(Day& day, const mem::Tier& tier, size_t rows) {
  const int64_t begin_ns = MonotonicNs();
  int64_t told_ns = begin_ns, longest_ns = 0;
  size_t told_rows = 0;
  int64_t before_ns = begin_ns;
  while (day.AppendBatch()) {
    const int64_t now_ns = MonotonicNs();
    longest_ns = std::max(longest_ns, now_ns - before_ns);
    before_ns = now_ns;
    if (now_ns - told_ns < 5 * kNsPerSecond) continue;
    std::fprintf(stderr, "%5.0f s  %5.1f %%  %6.2f million rows/s  %5.1f GB  %5.1f GB in DRAM\n",
                 Seconds(now_ns - begin_ns),
                 100 * static_cast<double>(day.rows()) / static_cast<double>(rows),
                 static_cast<double>(day.rows() - told_rows) / Seconds(now_ns - told_ns) / 1e6,
                 Gigabytes(tier.Stats().used_bytes), Gigabytes(tier.ResidentBytes()));
    told_rows = day.rows();
    told_ns = before_ns = MonotonicNs();
  }
  const double seconds = Seconds(MonotonicNs() - begin_ns);
  return {{"load_s", seconds},
          {"rows", day.rows()},
          {"rows_per_s", static_cast<double>(day.rows()) / seconds},
          {"longest_batch_ms", static_cast<double>(longest_ns) / 1e6},
          {"bytes", tier.Stats().used_bytes},
          {"bytes_per_row",
           static_cast<double>(tier.Stats().used_bytes) / static_cast<double>(day.rows())}};
}

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app("A real day's rows in a tier of files on a disk.");
  app.add_option("--dir", settings.directory, "A folder on the disk")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--quotes", settings.quotes, "Rows")
      ->capture_default_str()
      ->check(CLI::Range(size_t{100'000}, size_t{4'000'000'000}));
  app.add_option("--trades", settings.trades, "Rows")
      ->capture_default_str()
      ->check(CLI::Range(size_t{100'000}, size_t{4'000'000'000}));
  app.add_option("--rank", settings.rank,
                 "The symbol to ask for: the one with so many-th most rows")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", settings.json, "One JSON object on standard output");
  CLI11_PARSE(app, argc, argv);

  mem::TierOptions options;
  options.name = "disk";
  options.kind = mem::TierKind::kFilesystem;
  options.path = settings.directory;
  options.capacity_bytes =
      settings.quotes * kQuoteRoomBytes + settings.trades * kTradeRoomBytes + kOtherRoomBytes;
  options.touch_ahead_bytes = kTouchAheadBytes;
  const size_t free_bytes = FreeBytes(settings.directory);
  if (free_bytes < options.capacity_bytes + kSpareBytes) {
    Fail(fmt::format(
        "{}: {:.1f} GB are free, {:.1f} are needed ({:.1f} for the rows, {:.1f} stay "
        "free)",
        settings.directory, Gigabytes(free_bytes), Gigabytes(options.capacity_bytes + kSpareBytes),
        Gigabytes(options.capacity_bytes), Gigabytes(kSpareBytes)));
  }
  const int64_t begin_ns = MonotonicNs();
  absl::StatusOr<std::unique_ptr<mem::Tier>> tier = mem::OpenTier(options);
  if (!tier.ok()) Fail(std::string(Message(tier.status())));

  Json report = {{"machine", MachineText()},
                 {"filesystem", (*tier)->Stats().filesystem},
                 {"quotes", settings.quotes},
                 {"trades", settings.trades},
                 {"capacity_bytes", options.capacity_bytes},
                 {"open_s", Seconds(MonotonicNs() - begin_ns)}};
  Day day(settings, tier->get());
  report.update(Load(day, **tier, settings.quotes + settings.trades));
  report["page_cache_bytes_loaded"] = (*tier)->ResidentBytes();
  report.update(Query(settings, day));
  report["page_cache_bytes_asked"] = (*tier)->ResidentBytes();
  report["anonymous_bytes"] = AnonymousBytes();
  report["resident_bytes_max"] = ResidentBytesMax();
  if (settings.json) {
    std::printf("%s\n", report.dump(2).c_str());
  } else {
    for (const auto& [key, value] : report.items()) {
      std::printf("%-24s %s\n", key.c_str(), value.dump().c_str());
    }
  }
  return 0;
}

}  // namespace
}  // namespace tickstack::bench

int main(int argc, char** argv) { return tickstack::bench::Main(argc, argv); }
