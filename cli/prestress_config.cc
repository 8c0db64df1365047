#include "cli/prestress_config.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "base/status.h"
#include "base/time.h"
#include "feed/sources/sim_source.h"

namespace tickstack::cli {
namespace {

constexpr int64_t kBatchRows = 16'384;
constexpr int64_t kRowsMax = 4'000'000'000;  // Rows of a table; row numbers have 32 bits.
constexpr double kRate = 48'000;
constexpr double kSpanSecondsMax = 4 * 3'600;  // The rows cover at most the last 4 hours.

// Rows of the simulated market up to now, without a feed.
class SimRows final : public rdb::RowSource {
 public:
  explicit SimRows(feed::SimOptions options) : options_(std::move(options)) {}

  int64_t rows() const override { return options_.quotes_max + options_.trades_max; }

  absl::StatusOr<std::optional<Rows>> Next() override {
    if (source_ == nullptr) TS_RETURN_IF_ERROR(Open());
    TS_ASSIGN_OR_RETURN(const feed::FeedBatch* batch,
                        source_->Next(std::numeric_limits<int64_t>::max()));
    if (batch == nullptr) return std::nullopt;
    return Rows{batch->table, batch->rows, batch->data};
  }

 private:
  absl::Status Open() {
    const auto ratio = static_cast<double>(options_.quotes_per_trade);
    const double updates = std::max(static_cast<double>(options_.quotes_max) * (1 + 1 / ratio),
                                    static_cast<double>(options_.trades_max) * (1 + ratio));
    options_.rate = std::max(kRate, updates / kSpanSecondsMax);
    TS_ASSIGN_OR_RETURN(source_, options_.Open());
    TS_RETURN_IF_ERROR(source_->Rewind({}));
    const double span_ns = updates / options_.rate * static_cast<double>(kNsPerSecond);
    source_->Start(SystemClock::Instance().NowNs() - static_cast<int64_t>(span_ns));
    return absl::OkStatus();
  }

  feed::SimOptions options_;
  std::unique_ptr<feed::Source> source_;
};

}  // namespace

absl::Status ReadPrestress(const ConfigTable& rdb, const std::vector<Schema>* schemas,
                           rdb::RdbMainOptions& options) {
  if (!rdb.Has("prestress")) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const ConfigTable table, rdb.Table("prestress"));
  if (schemas == nullptr) {
    return rdb.ErrorAt("prestress", "expected an rdb of this file's [tickerplant]");
  }
  feed::SimOptions source;
  source.seconds = 0;
  source.batch_rows = kBatchRows;
  source.quotes_max = source.trades_max = 0;
  TS_RETURN_IF_ERROR(table.Read("quotes", &source.quotes_max, int64_t{0}, kRowsMax));
  TS_RETURN_IF_ERROR(table.Read("trades", &source.trades_max, int64_t{0}, kRowsMax));
  TS_RETURN_IF_ERROR(table.Read("symbols", &source.symbols, int64_t{1}, int64_t{65'536}));
  TS_RETURN_IF_ERROR(table.Read("seed", &source.seed));
  // The same ratio as between the requested numbers, so that both tables end at about the same
  // time.
  source.quotes_per_trade =
      std::clamp<int64_t>(source.quotes_max / std::max<int64_t>(source.trades_max, 1), 1, 1'000);
  if (source.quotes_max + source.trades_max == 0) return absl::OkStatus();
  options.prestress = std::make_shared<SimRows>(std::move(source));
  options.prestress_schemas = *schemas;
  return absl::OkStatus();
}

}  // namespace tickstack::cli
