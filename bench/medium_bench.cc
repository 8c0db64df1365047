// medium_bench: checks that the simulated tiers are as slow as their models specify.
//
//   medium_bench [--rows N] [--rounds N] [--dir DIR] [--json]
//
// It reads a table in a tier of each model as queries do, and writes it as updates do:
//
//   in order    65,536 elements of a column by one thread, and as many by each of two
//   scattered   20,000 elements at random rows that are known in advance: ns per element
//   chained     2,000 elements at random rows, one after the other: ns per element, minus the time
//               for an element that is in a cache
//   append      65,536 rows of two columns
//
// The last model is Optane's, with a medium that two threads saturate. Beside each figure are the
// model's, and that of DRAM on this machine. Each measurement takes about half a ms, and the best
// of many is printed: an access is never faster than its model, but other load makes it slower. If
// this machine is already slower than the model, the figure is not judged. Any other figure that is
// off by more than 15 % makes the exit code 1.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/byte_buffer.h"
#include "base/check.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "bench/measured_machine.h"
#include "mem/medium.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "query/columns/gather.h"
#include "table/table.h"

namespace tickstack::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kStepRows = 65'536, kScattered = 20'000, kChained = 2'000;
constexpr double kOffMax = 0.15;

struct Settings {
  size_t rows = 8'000'000;
  size_t rounds = 200;
  std::string directory;
  bool json = false;
};

template <typename T>
T Need(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "medium_bench: %s\n", std::string(Message(value.status())).c_str());
  std::exit(1);
}

double ElapsedNs(int64_t begin_ns) { return static_cast<double>(MonotonicNs() - begin_ns); }

// A table of prices and sizes in one tier, and its measurements.
class Prices {
 public:
  Prices(std::unique_ptr<mem::Tier> tier, size_t rows)
      : tier_(std::move(tier)), schema_(Need(ParseSchema("prices", "price f, size j"))) {
    batch_.resize(kStepRows * sizeof(int64_t));
    for (size_t i = 0; i < batch_.size(); ++i) batch_.data()[i] = static_cast<std::byte>(i);
    TablePlacement placement;
    placement.columns = tier_.get();
    table_ = Need(Table::Create(schema_, &symbols_, placement));
    while (table_->rows() < rows) AppendStep();
  }

  // Returns GB/s of the column `size`, read by threads that have a step each.
  double InOrder(size_t threads) {
    const query::Slice sizes = All(1);
    const size_t first = NextStep(threads);
    std::vector<std::thread> readers;
    std::vector<int64_t> sums(threads), ends(threads);
    std::atomic<size_t> ready = 0;
    std::atomic<int64_t> begin_ns = 0;
    for (size_t i = 0; i < threads; ++i) {
      readers.emplace_back([&, i] {
        const query::Limits limits;
        const query::Budget budget(limits);
        const auto add = [&](const query::Block<int64_t>& block) {
          for (const int64_t size : block.elements) sums[i] += size;
        };
        // All threads start together.
        if (++ready == threads) begin_ns = MonotonicNs();
        while (begin_ns == 0) {
        }
        const size_t row = first + i * kStepRows;
        TS_CHECK(query::ForEachBlock<int64_t>(sizes, row, row + kStepRows, budget, add).ok());
        ends[i] = MonotonicNs();
      });
    }
    for (std::thread& reader : readers) reader.join();
    TS_CHECK(std::ranges::all_of(sums, [](int64_t sum) { return sum != 0; }));
    return static_cast<double>(threads * kStepRows * sizeof(int64_t)) /
           static_cast<double>(*std::ranges::max_element(ends) - begin_ns);
  }

  double ScatteredNs() {
    const std::vector<uint32_t> rows = RandomRows(kScattered);
    const query::Limits limits;
    query::Budget budget(limits);
    const query::Slice prices = All(0);
    const int64_t begin_ns = MonotonicNs();
    TS_CHECK(query::GatherRows(prices.column, rows, budget).ok());
    return ElapsedNs(begin_ns) / static_cast<double>(rows.size());
  }

  double ChainedNs() { return NsOfEach(RandomRows(kChained)); }
  // The same for an element that is in a cache.
  double CachedNs() { return NsOfEach(std::vector<uint32_t>(kChained, 0)); }
  // Returns GB/s of both columns.
  double Append() {
    const int64_t begin_ns = MonotonicNs();
    AppendStep();
    return static_cast<double>(2 * batch_.size()) / ElapsedNs(begin_ns);
  }

 private:
  void AppendStep() {
    const ColumnView price{Type::kFloat, Attribute::kNone, kStepRows, batch_.span()};
    const ColumnView size{Type::kLong, Attribute::kNone, kStepRows, batch_.span()};
    const ColumnView columns[] = {price, size};
    TS_CHECK(table_->Append({columns, kStepRows}).ok());
  }
  query::Slice All(size_t column) const {
    const auto snapshot = std::make_shared<const Snapshot>(table_->TakeSnapshot());
    return {query::AnyColumn(snapshot, column),
            std::make_shared<const query::RowSet>(query::RowSet::Range(0, snapshot->rows()))};
  }
  double NsOfEach(const std::vector<uint32_t>& rows) const {
    const query::Slice prices = All(0);
    const int64_t begin_ns = MonotonicNs();
    for (const uint32_t row : rows) TS_CHECK(prices.column.At(row).ok());
    return ElapsedNs(begin_ns) / static_cast<double>(rows.size());
  }
  // Returns the start of `steps` steps that no cache holds from an earlier read.
  size_t NextStep(size_t steps) {
    const size_t begin = next_;
    next_ += steps * kStepRows;
    if (next_ + steps * kStepRows > table_->rows()) next_ = 0;
    return begin;
  }
  std::vector<uint32_t> RandomRows(size_t count) {
    std::uniform_int_distribution<uint32_t> row(0, static_cast<uint32_t>(table_->rows() - 1));
    std::vector<uint32_t> rows(count);
    for (uint32_t& each : rows) each = row(rng_);
    return rows;
  }

  std::unique_ptr<mem::Tier> tier_;
  const Schema schema_;
  ByteBuffer batch_;
  SymbolTable symbols_;
  std::shared_ptr<Table> table_;
  size_t next_ = 0;
  std::mt19937 rng_{1};
};

// The measurements of a tier, the best of the rounds.
struct Figures {
  double one_thread, two_threads, scattered_ns, chained_ns, append;
  double cached_ns = 0;  // DRAM: the time for an element if the memory itself takes none.
};

Figures Measure(std::unique_ptr<mem::Tier> tier, const Settings& settings) {
  Prices prices(std::move(tier), settings.rows);
  Figures best{0, 0, 1e9, 1e9, 0, 1e9};
  for (size_t round = 0; round < settings.rounds; ++round) {
    best.one_thread = std::max(best.one_thread, prices.InOrder(1));
    best.two_threads = std::max(best.two_threads, prices.InOrder(2));
    best.scattered_ns = std::min(best.scattered_ns, prices.ScatteredNs());
    best.chained_ns = std::min(best.chained_ns, prices.ChainedNs());
    best.cached_ns = std::min(best.cached_ns, prices.CachedNs());
    best.append = std::max(best.append, prices.Append());
  }
  return best;
}

// Returns the figures that follow from the model alone.
Figures Expected(const mem::MediumModel& model) {
  // A scattered element transfers a unit of the medium.
  const double unit_ns = static_cast<double>(model.unit_bytes) / model.read_gb_per_s;
  return {.one_thread = std::min(model.thread_read_gb_per_s, model.read_gb_per_s),
          .two_threads = std::min(2 * model.thread_read_gb_per_s, model.read_gb_per_s),
          .scattered_ns = std::max(model.read_ns / model.reads_at_once, unit_ns),
          .chained_ns = std::max(model.read_ns, unit_ns),
          .append = std::min(model.thread_write_gb_per_s, model.write_gb_per_s),
          .cached_ns = 0};
}

std::unique_ptr<mem::Tier> Open(const mem::MediumModel& model, const Settings& settings) {
  mem::TierOptions options;
  options.name = model.name;
  options.kind = mem::TierKind::kSimulate;
  options.model = model;
  options.path = settings.directory;
  if (!settings.directory.empty())
    options.capacity_bytes = settings.rows * 16 + settings.rounds * kStepRows * 16 + (64U << 20);
  return Need(mem::OpenTier(options));
}

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Whether the simulated tiers are as slow as their models say.");
  app.add_option("--rows", settings.rows, "Rows of the table to begin with")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1'000'000}, size_t{100'000'000}));
  app.add_option("--rounds", settings.rounds, "Of which the best is taken")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--dir", settings.directory, "Where the tiers' files are; DRAM if not given")
      ->check(CLI::ExistingDirectory);
  app.add_flag("--json", settings.json, "One JSON object on standard output");
  CLI11_PARSE(app, argc, argv);
  InitLogging("medium_bench", LogLevel::kError);

  std::vector<mem::MediumModel> models(mem::MediumModels().begin(), mem::MediumModels().end());
  mem::MediumModel narrow = models.front();
  narrow.name = "narrow";
  narrow.read_gb_per_s = 3;
  narrow.write_gb_per_s = 1.5;
  models.push_back(narrow);

  Figures dram = Measure(mem::MakeDramTier("dram"), settings);
  dram.chained_ns -= dram.cached_ns;
  Json report = {{"machine", MachineText()}, {"rows", settings.rows}};
  if (!settings.json) {
    std::printf("%s\n%-10s %-18s %10s %10s %10s %8s\n", MachineText().c_str(), "model", "", "DRAM",
                "model's", "measured", "off");
  }
  bool all_near = true;
  for (const mem::MediumModel& model : models) {
    const Figures expected = Expected(model);
    Figures measured = Measure(Open(model, settings), settings);
    measured.chained_ns -= dram.cached_ns;
    // A larger time is slower, and so is a smaller rate.
    const auto judge = [&](const char* what, double Figures::* figure, bool is_time) {
      const double here = dram.*figure, model_s = expected.*figure, found = measured.*figure;
      const bool limits = is_time ? here < model_s : here > model_s;
      const double off = found / model_s - 1;
      const bool near = !limits || std::abs(off) <= kOffMax;
      all_near = all_near && near;
      report["models"][model.name][what] = {
          {"dram", here}, {"model", model_s}, {"measured", found}, {"limits", limits}};
      if (settings.json) return;
      std::printf("%-10s %-18s %10.2f %10.2f %10.2f %7.1f%%%s\n", model.name.c_str(), what, here,
                  model_s, found, 100 * off,
                  !limits ? "  not the limit"
                  : near  ? ""
                          : "  OFF");
    };
    judge("in order, GB/s", &Figures::one_thread, false);
    judge("two threads, GB/s", &Figures::two_threads, false);
    judge("scattered, ns", &Figures::scattered_ns, true);
    judge("chained, ns", &Figures::chained_ns, true);
    judge("append, GB/s", &Figures::append, false);
  }
  if (settings.json) std::printf("%s\n", report.dump(2).c_str());
  return all_near ? 0 : 1;
}

}  // namespace
}  // namespace tickstack::bench

int main(int argc, char** argv) { return tickstack::bench::Main(argc, argv); }
