#include "bench/day_batches.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "base/check.h"

namespace tickstack::bench {
namespace {

// Returns tickers of one to four letters; busy ones are not all short.
std::vector<std::string> MakeNames(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    std::string name;
    for (size_t left = i + 18; left > 0; left /= 26) {
      name.push_back(static_cast<char>('A' + left % 26));
    }
    names.push_back(name);
  }
  std::ranges::shuffle(names, std::mt19937_64(1));
  return names;
}

void AppendRandom(ByteBuffer& out, Type type, uint8_t chars, std::mt19937_64& rng) {
  const uint64_t bits = rng();
  if (type == Type::kFloat) return out.AppendLittle(1.0 + static_cast<double>(bits % 9900) / 100);
  if (type == Type::kLong) return out.AppendLittle(static_cast<int64_t>(1 + bits % 1000));
  if (type == Type::kInt) return out.AppendLittle(static_cast<int32_t>(1 + bits % 1000));
  if (type == Type::kBoolean) return out.AppendLittle(static_cast<uint8_t>(bits % 2));
  TS_CHECK(WidthOf(type) == 1);
  out.AppendLittle(static_cast<uint8_t>('A' + bits % chars));
}

}  // namespace

DayBatches::DayBatches(const Schema& schema, const DayBatchOptions& options)
    : options_(options),
      time_column_(static_cast<size_t>(schema.Find("time"))),
      names_(MakeNames(options.symbols)) {
  TS_CHECK(schema.Find("time") >= 0 && schema.Find("sym") >= 0 && options.symbols <= UINT16_MAX);
  double sum = 0;
  for (size_t k = 1; k <= options.symbols; ++k) {
    cumulative_.push_back(sum += 1.0 / static_cast<double>(k));
  }
  std::vector<size_t> rows(options.symbols);
  for (size_t i = 0; i < options.batches; ++i) {
    pool_.push_back(Make(schema, options.seed * 1'000'003 + i));
    for (const uint16_t symbol : pool_.back().symbols) ++rows[symbol];
  }
  by_activity_.resize(options.symbols);
  std::iota(by_activity_.begin(), by_activity_.end(), size_t{0});
  std::ranges::stable_sort(by_activity_, std::greater<>(), [&](size_t i) { return rows[i]; });
}

DayBatches::Batch DayBatches::Make(const Schema& schema, uint64_t seed) const {
  std::mt19937_64 rng(seed);
  const size_t rows = options_.rows_per_batch;
  Batch batch;
  for (size_t i = 0; i < rows; ++i) {
    const double at = std::uniform_real_distribution<>(0, cumulative_.back())(rng);
    const auto number = std::ranges::upper_bound(cumulative_, at) - cumulative_.begin();
    batch.symbols.push_back(
        static_cast<uint16_t>(std::min(static_cast<size_t>(number), options_.symbols - 1)));
  }
  batch.bytes.AppendLittle(uint8_t{0});  // Starts at an odd address, as in a receive buffer.
  std::vector<size_t> ends;
  for (const ColumnSpec& column : schema.columns) {
    for (size_t i = 0; i < rows; ++i) {
      if (column.type == Type::kSymbol) {
        batch.bytes.Append(names_[batch.symbols[i]]);
        batch.bytes.AppendLittle(uint8_t{0});
      } else if (column.type == Type::kTimestamp) {
        batch.bytes.AppendLittle(TimeOf(i));  // Next() changes it.
      } else {
        AppendRandom(batch.bytes, column.type, options_.chars, rng);
      }
    }
    ends.push_back(batch.bytes.size());
  }
  size_t begin = 1;
  for (size_t i = 0; i < ends.size(); ++i) {
    batch.columns.push_back({schema.columns[i].type, Attribute::kNone, rows,
                             batch.bytes.span().subspan(begin, ends[i] - begin)});
    begin = ends[i];
  }
  return batch;
}

BatchView DayBatches::Next() {
  Batch& batch = pool_[handed_out_ % pool_.size()];
  const size_t offset =
      static_cast<size_t>(batch.columns[time_column_].data.data() - batch.bytes.data());
  std::byte* const times = batch.bytes.data() + offset;
  const size_t first_row = rows();
  for (size_t i = 0; i < options_.rows_per_batch; ++i) {
    const int64_t time_ns = TimeOf(first_row + i);
    std::memcpy(times + i * sizeof(time_ns), &time_ns, sizeof(time_ns));
  }
  ++handed_out_;
  return {batch.columns, options_.rows_per_batch};
}

uint16_t DayBatches::NumberOf(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  TS_CHECK(found != names_.end());
  return static_cast<uint16_t>(found - names_.begin());
}

size_t DayBatches::RowsOf(std::string_view name) const {
  const uint16_t symbol = NumberOf(name);
  size_t rows = 0;
  for (size_t i = 0; i < pool_.size(); ++i) {
    const size_t times_out = (handed_out_ + pool_.size() - 1 - i) / pool_.size();
    rows += times_out * static_cast<size_t>(std::ranges::count(pool_[i].symbols, symbol));
  }
  return rows;
}

size_t DayBatches::LastRowOf(std::string_view name) const {
  const uint16_t symbol = NumberOf(name);
  for (size_t batch = handed_out_; batch-- > 0;) {
    const std::vector<uint16_t>& symbols = pool_[batch % pool_.size()].symbols;
    const auto found = std::ranges::find(symbols.rbegin(), symbols.rend(), symbol);
    if (found != symbols.rend()) {
      return batch * options_.rows_per_batch + static_cast<size_t>(symbols.rend() - found) - 1;
    }
  }
  TS_CHECK(false);
  return 0;
}

}  // namespace tickstack::bench
