#pragma once

// Computes bars by their definition (aggregate.h, step_history.h), slowly: all rows of the day are
// kept and sorted, and each cell is computed from them separately. For tests; it shares no code
// with the engine.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "aggengine/aggregate.h"
#include "aggengine/bar_functions.h"
#include "table/value.h"

namespace tickstack::aggengine {

// A row of trade (a: price, n: size, letter: cond) or of quote (a: bid, b: ask, n: bsize, m:
// asize).
struct Tick {
  int64_t time_ns;
  std::string sym;
  double a;
  double b;
  int64_t n;
  int64_t m;
  char letter;
};

// By table, symbol and key (ns, or days): the cells from `time` on, as text.
using BarRows = std::map<std::tuple<std::string, std::string, int64_t>, std::vector<std::string>>;

inline std::string FloatCell(double value) {
  return std::isnan(value) ? "null" : fmt::format("{:.17g}", value + 0.0);
}
inline std::string LongCell(int64_t value) {
  return value == kNullLong ? "null" : fmt::format("{}", value);
}

// An element of a published column, as text.
inline std::string CellOf(const Value& column, size_t row) {
  const Type type = column.type();
  if (type == Type::kFloat) return FloatCell(column.span<double>()[row]);
  if (type == Type::kChar) return std::string(1, column.text()[row]);
  if (type != Type::kInt) return LongCell(column.span<int64_t>()[row]);
  const int32_t value = column.span<int32_t>()[row];
  return LongCell(value == kNullInt ? kNullLong : value);
}

class Definition {
 public:
  Definition(const BarSpec& spec, const std::vector<std::pair<std::string, Tick>>& day)
      : spec_(spec) {
    for (const auto& [table, tick] : day) {
      const bool has_time = tick.time_ns != kNullLong && tick.time_ns != kInfinityLong;
      if (table == spec.table && has_time) by_symbol_[tick.sym].push_back(tick);
    }
    for (auto& [sym, ticks] : by_symbol_) {
      std::stable_sort(ticks.begin(), ticks.end(),
                       [](const Tick& x, const Tick& y) { return x.time_ns < y.time_ns; });
    }
  }

  void AddTo(BarRows& rows) const {
    for (const auto& [sym, ticks] : by_symbol_) {
      std::map<int64_t, std::vector<Tick>> by_bar;
      for (const Tick& tick : ticks) {
        int64_t number = tick.time_ns / spec_.width_ns;
        if (tick.time_ns % spec_.width_ns < 0) --number;
        by_bar[number].push_back(tick);
      }
      for (const auto& [number, of_bar] : by_bar) {
        const int64_t begin_ns = number * spec_.width_ns;
        const bool is_day = spec_.width_ns == 86'400'000'000'000;
        std::vector<std::string>& cells = rows[{spec_.name, sym, is_day ? number : begin_ns}];
        cells.push_back(LongCell(of_bar.back().time_ns));
        for (const Aggregate& aggregate : spec_.aggregates) {
          cells.push_back(Cell(aggregate, of_bar, ticks, begin_ns));
        }
      }
    }
  }

 private:
  static double Column(const std::string& name, const Tick& tick) {
    if (name == "price" || name == "bid") return tick.a;
    if (name == "ask") return tick.b;
    const int64_t n = name == "asize" ? tick.m : tick.n;
    return n == kNullLong ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(n);
  }
  static double Of(const Operand& operand, const Tick& tick) {
    const double value = Column(operand.column, tick);
    return operand.minus.empty() ? value : value - Column(operand.minus, tick);
  }
  static bool IsLong(const Operand& operand) {
    return operand.column == "size" || operand.column == "bsize" || operand.column == "asize";
  }
  // Formats a value of the column: integers of these tests are small enough for a double.
  static std::string Print(const Operand& operand, double value) {
    if (!IsLong(operand) || std::isnan(value)) return FloatCell(value);
    return LongCell(static_cast<int64_t>(value));
  }

  static std::string Cell(const Aggregate& of, const std::vector<Tick>& bar,
                          const std::vector<Tick>& day, int64_t begin_ns, int64_t width_ns) {
    const double null = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> there;  // Values that are not null.
    __float128 sum = 0, product = 0, weights = 0;
    int64_t counted = 0;
    const std::string_view function = of.function->word;
    for (const Tick& tick : bar) {
      if (function == "count" || of.x.column == "cond") break;
      const double value = Of(of.x, tick);
      if (std::isnan(value)) continue;
      there.push_back(value);
      if (std::isinf(value)) continue;
      sum += value;
      ++counted;
      if (function != "wavg") continue;
      const double weight = Of(of.weight, tick);
      if (std::isnan(weight)) continue;
      product += static_cast<__float128>(value) * weight;
      weights += weight;
    }
    if (function == "count") return LongCell(static_cast<int64_t>(bar.size()));
    if (function == "first") return Print(of.x, Of(of.x, bar.front()));
    if (function == "last") {
      if (of.x.column == "cond") return std::string(1, bar.back().letter);
      return Print(of.x, Of(of.x, bar.back()));
    }
    if (function == "min") {
      return Print(of.x, there.empty() ? null : *std::min_element(there.begin(), there.end()));
    }
    if (function == "max") {
      return Print(of.x, there.empty() ? null : *std::max_element(there.begin(), there.end()));
    }
    if (function == "sum") return Print(of.x, static_cast<double>(sum));
    if (function == "avg") {
      return FloatCell(counted == 0 ? null
                                    : static_cast<double>(sum) / static_cast<double>(counted));
    }
    if (function == "wavg") {
      return FloatCell(static_cast<double>(product) / static_cast<double>(weights));
    }
    if (function == "twavg") {
      return FloatCell(MeanOverTime(of.x, bar, day, begin_ns, begin_ns + width_ns));
    }
    return "no definition of " + std::string(function);
  }
  std::string Cell(const Aggregate& of, const std::vector<Tick>& bar, const std::vector<Tick>& day,
                   int64_t begin_ns) const {
    return Cell(of, bar, day, begin_ns, spec_.width_ns);
  }

  static double MeanOverTime(const Operand& x, const std::vector<Tick>& bar,
                             const std::vector<Tick>& day, int64_t begin_ns, int64_t end_ns) {
    __float128 integral = 0;
    int64_t over_ns = 0;
    for (size_t i = 0; i + 1 < day.size(); ++i) {
      const double value = Of(x, day[i]);
      const int64_t from = std::max(begin_ns, day[i].time_ns);
      const int64_t to = std::min(end_ns, day[i + 1].time_ns);
      if (std::isnan(value) || std::isinf(value) || from >= to) continue;
      integral += static_cast<__float128>(value) * (to - from);
      over_ns += to - from;
    }
    if (over_ns == 0) return Of(x, bar.back());
    return static_cast<double>(integral) / static_cast<double>(over_ns);
  }

  const BarSpec& spec_;
  std::map<std::string, std::vector<Tick>> by_symbol_;
};

inline BarRows BarsByDefinition(const std::vector<BarSpec>& specs,
                                const std::vector<std::pair<std::string, Tick>>& day) {
  BarRows rows;
  for (const BarSpec& spec : specs) Definition(spec, day).AddTo(rows);
  return rows;
}

}  // namespace tickstack::aggengine
