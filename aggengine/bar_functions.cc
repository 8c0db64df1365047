#include "aggengine/bar_functions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>

#include "aggengine/bar_record.h"
#include "aggengine/exact_sum.h"
#include "aggengine/exact_sum_run.h"

namespace tickstack::aggengine {
namespace {

// Rows of a run, as a function takes them.
struct Rows {
  TickBatch& batch;
  const TickRun& run;
  bool is_first;  // The run has the first, or the newest, row of the record.
  bool is_last;

  // Returns the operand's values: T is int64_t, or double for a floating one.
  template <typename T>
  std::span<const T> Values(size_t operand) const {
    if constexpr (std::is_same_v<T, double>) {
      return batch.floats(operand).subspan(run.begin, run.end - run.begin);
    } else {
      return batch.longs(operand).subspan(run.begin, run.end - run.begin);
    }
  }
  std::span<const double> AsFloats(size_t operand) const {
    return batch.AsFloats(operand).subspan(run.begin, run.end - run.begin);
  }
};

uint64_t FloatBits(double value) {
  return std::isnan(value) ? kNullFloatBits : std::bit_cast<uint64_t>(value);
}

// Returns a widened integer as one of `type`, in the low bytes.
uint64_t Narrow(int64_t value, Type type) {
  if (IsNull(value)) {
    if (WidthOf(type) == sizeof(int16_t)) return static_cast<uint16_t>(kNullShort);
    if (WidthOf(type) == sizeof(int32_t)) return static_cast<uint32_t>(kNullInt);
  }
  return static_cast<uint64_t>(value);
}

uint64_t NarrowFloat(double value, Type type) {
  if (type != Type::kReal) return FloatBits(value);
  return std::isnan(value) ? kNullRealBits : std::bit_cast<uint32_t>(static_cast<float>(value));
}

double Ratio(double sum, uint64_t terms) { return sum / static_cast<double>(terms); }

// Returns the lesser of the two, or the one that is not null; the greater with `kGreatest`. It has
// no branch, because the processor could not guess it.
template <bool kGreatest, typename T>
T Better(T kept, T value) {
  const bool better = kGreatest ? value > kept : value < kept;
  const bool takes = (!IsNull(value)) & (better | IsNull(kept));
  const uint64_t mask = -static_cast<uint64_t>(takes);
  return std::bit_cast<T>((std::bit_cast<uint64_t>(value) & mask) |
                          (std::bit_cast<uint64_t>(kept) & ~mask));
}

// Returns the least of the values and `kept`, without nulls; the greatest with `kGreatest`.
template <bool kGreatest>
int64_t ExtremeOf(int64_t kept, std::span<const int64_t> values) {
  for (const int64_t value : values) kept = Better<kGreatest>(kept, value);
  return kept;
}

// Returns what a processor's own minimum or maximum gives: `kept`, if the other one is null.
template <bool kGreatest>
double BestOf(double kept, double value) {
  return (kGreatest ? value > kept : value < kept) ? value : kept;
}

template <bool kGreatest>
double ExtremeOf(double kept, std::span<const double> values) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNone = kGreatest ? -kInfinity : kInfinity;
  // Many runs have up to four rows, and the processor cannot guess how many: it is cheaper to take
  // the last one again than to end there. The rest goes in four lanes, none of which waits for
  // another.
  const size_t last = values.size() - 1;
  double lanes[4] = {IsNull(kept) ? kNone : kept, kNone, kNone, kNone};
  for (size_t lane = 0; lane < 4; ++lane) {
    lanes[lane] = BestOf<kGreatest>(lanes[lane], values[std::min(lane, last)]);
  }
  size_t at = 4;
  for (; at + 4 <= values.size(); at += 4) {
    for (size_t lane = 0; lane < 4; ++lane) {
      lanes[lane] = BestOf<kGreatest>(lanes[lane], values[at + lane]);
    }
  }
  for (; at < values.size(); ++at) lanes[0] = BestOf<kGreatest>(lanes[0], values[at]);
  const double best = BestOf<kGreatest>(BestOf<kGreatest>(lanes[0], lanes[1]),
                                        BestOf<kGreatest>(lanes[2], lanes[3]));
  if (best != kNone) [[likely]]
    return best;
  // There are nulls only, or an infinity among the values.
  for (const double value : values) kept = Better<kGreatest>(kept, value);
  return kept;
}

// Adds the values that are in range. Returns their number.
uint64_t AddFloats(std::span<const double> values, ExactSum& sum) {
  ExactSumRun run;
  uint64_t terms = 0;
  for (const double value : values) {
    if (!InRange(value)) continue;
    run.Add(value);
    ++terms;
  }
  run.AddTo(sum);
  return terms;
}

// Each function is a template over the type of its operand's values, int64_t or double:
//   State    what it keeps, in 64-bit words; an empty type: nothing
//   Make     returns the state of a bar without rows
//   Take     adds rows to the state
//   Result   returns the value as bits

// The base of functions that begin with an empty state.
template <typename StateType>
struct Keeps {
  using State = StateType;
  static State Make() { return {}; }
};

// The base of functions that keep one of the values, as bits. The first and the last one are by
// (time, arrival), null or not; the least and the greatest one are null if there is no other value.
template <typename T>
struct KeepsValue : Keeps<uint64_t> {
  static uint64_t Result(const BarColumn& column, const BarRecord& record) {
    const auto kept = std::bit_cast<T>(record.At<uint64_t>(column.word));
    if constexpr (std::is_same_v<T, double>) {
      return NarrowFloat(kept, column.type);
    } else {
      return Narrow(kept, column.type);
    }
  }
};

template <typename T>
struct First : KeepsValue<T> {
  static void Take(const BarColumn& column, BarRecord& record, const Rows& rows) {
    if (!rows.is_first) return;
    record.At<uint64_t>(column.word) = std::bit_cast<uint64_t>(rows.Values<T>(column.x).front());
  }
};

template <typename T>
struct Last : KeepsValue<T> {
  static void Take(const BarColumn& column, BarRecord& record, const Rows& rows) {
    if (!rows.is_last) return;
    record.At<uint64_t>(column.word) = std::bit_cast<uint64_t>(rows.Values<T>(column.x).back());
  }
};

template <bool kGreatest, typename T>
struct Extreme : KeepsValue<T> {
  static uint64_t Make() {
    return std::is_same_v<T, double> ? kNullFloatBits : static_cast<uint64_t>(kNullLong);
  }
  static void Take(const BarColumn& column, BarRecord& record, const Rows& rows) {
    auto& word = record.At<uint64_t>(column.word);
    word = std::bit_cast<uint64_t>(
        ExtremeOf<kGreatest>(std::bit_cast<T>(word), rows.Values<T>(column.x)));
  }
};
template <typename T>
struct Min : Extreme<false, T> {};
template <typename T>
struct Max : Extreme<true, T> {};

struct Nothing {};
template <typename T>
struct Count : Keeps<Nothing> {  // The record counts its rows.
  static void Take(const BarColumn&, BarRecord&, const Rows&) {}
  static uint64_t Result(const BarColumn&, const BarRecord& record) { return record.rows; }
};

// Nulls are left out. A long wraps as q's does.
template <typename T>
struct Sum : Keeps<uint64_t> {
  static void Take(const BarColumn& column, BarRecord& record, const Rows& rows) {
    auto& sum = record.At<uint64_t>(column.word);
    for (const int64_t value : rows.Values<int64_t>(column.x)) {
      if (!IsNull(value)) sum += static_cast<uint64_t>(value);
    }
  }
  static uint64_t Result(const BarColumn& column, const BarRecord& record) {
    return record.At<uint64_t>(column.word);
  }
};
template <>
struct Sum<double> : Keeps<ExactSum> {
  static void Take(const BarColumn& column, BarRecord& record, const Rows& rows) {
    AddFloats(rows.Values<double>(column.x), record.At<ExactSum>(column.word));
  }
  static uint64_t Result(const BarColumn& column, const BarRecord& record) {
    return FloatBits(record.At<ExactSum>(column.word).Value());
  }
};

// avg: nulls are left out, and the mean of no values is null.
struct MeanState {
  ExactSum sum;
  uint64_t terms = 0;  // Number of values.
};
template <typename T>
struct Avg : Keeps<MeanState> {
  static void Take(const BarColumn& column, BarRecord& record, const Rows& rows) {
    auto& mean = record.At<MeanState>(column.word);
    mean.terms += AddFloats(rows.AsFloats(column.x), mean.sum);
  }
  static uint64_t Result(const BarColumn& column, const BarRecord& record) {
    const auto& mean = record.At<MeanState>(column.word);
    return FloatBits(Ratio(mean.sum.Value(), mean.terms));
  }
};

// wavg: the sum of w*x over the sum of w, of rows that have both.
struct WeightedState {
  ExactSum products;
  ExactSum weights;
};
template <typename T>
struct Wavg : Keeps<WeightedState> {
  static void Take(const BarColumn& column, BarRecord& record, const Rows& rows) {
    const std::span<const double> values = rows.AsFloats(column.x);
    const std::span<const double> weights = rows.AsFloats(column.weight);
    ExactSumRun products, sum;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!InRange(values[i]) || !InRange(weights[i]) || !InRange(values[i] * weights[i])) continue;
      products.AddProduct(values[i], weights[i]);
      sum.Add(weights[i]);
    }
    auto& mean = record.At<WeightedState>(column.word);
    products.AddTo(mean.products);
    sum.AddTo(mean.weights);
  }
  static uint64_t Result(const BarColumn& column, const BarRecord& record) {
    const auto& mean = record.At<WeightedState>(column.word);
    return FloatBits(mean.products.Value() / mean.weights.Value());
  }
};

// The mean over time (step_history.h). Bars adds what the values held over time.
template <typename T>
struct Twavg : Keeps<OverTimeState> {
  static void Take(const BarColumn& column, BarRecord& record, const Rows& rows) {
    if (rows.is_last) {
      record.At<OverTimeState>(column.word).last = rows.AsFloats(column.x).back();
    }
  }
  static uint64_t Result(const BarColumn& column, const BarRecord& record) {
    const auto& mean = record.At<OverTimeState>(column.word);
    const int64_t over_ns = mean.integral.over_ns;
    if (over_ns == 0) return FloatBits(mean.last);
    return FloatBits(Ratio(mean.integral.sum.Value(), static_cast<uint64_t>(over_ns)));
  }
};

// ---- The table

// Calls f with the function for the column's operand.
template <template <typename> typename Function, typename F>
auto ForOperand(const BarColumn& column, const F& f) {
  return column.floating ? f(Function<double>()) : f(Function<int64_t>());
}

constexpr size_t kWordBytes = sizeof(uint64_t);

template <typename State>
constexpr uint32_t WordsOf() {
  if constexpr (std::is_empty_v<State>) {
    return 0;
  } else {
    static_assert(sizeof(State) % kWordBytes == 0 && alignof(State) == alignof(uint64_t));
    return sizeof(State) / kWordBytes;
  }
}

using Operands = BarFunction::Operands;

template <template <typename> typename Function>
constexpr BarFunction Row(std::string_view word, Operands operands, bool numbers_only,
                          Type (*type)(Type x), bool over_time = false) {
  return {
      .word = word,
      .operands = operands,
      .numbers_only = numbers_only,
      .over_time = over_time,
      .type = type,
      .words_of_longs = WordsOf<typename Function<int64_t>::State>(),
      .words_of_floats = WordsOf<typename Function<double>::State>(),
      .make =
          [](const BarColumn& column, BarRecord& record) {
            ForOperand<Function>(column, [&]<typename Of>(Of) {
              using State = typename Of::State;
              if constexpr (!std::is_empty_v<State>) {
                new (&record.At<State>(column.word)) State(Of::Make());
              }
            });
          },
      .take_run =
          [](const BarColumn& column, BarRecord& record, TickBatch& batch, const TickRun& run,
             bool is_first, bool is_last) {
            ForOperand<Function>(column, [&]<typename Of>(Of) {
              Of::Take(column, record, Rows{batch, run, is_first, is_last});
            });
          },
      .take_runs =
          [](const BarColumn& column, std::span<BarRecord* const> records, TickBatch& batch,
             std::span<const TickRun> runs) {
            ForOperand<Function>(column, [&]<typename Of>(Of) {
              for (size_t i = 0; i < runs.size(); ++i) {
                Of::Take(column, *records[i], Rows{batch, runs[i], false, true});
              }
            });
          },
      .result =
          [](const BarColumn& column, const BarRecord& record) {
            return ForOperand<Function>(
                column, [&]<typename Of>(Of) { return Of::Result(column, record); });
          },
  };
}

Type Same(Type x) { return x; }
Type Long(Type) { return Type::kLong; }
Type Float(Type) { return Type::kFloat; }
Type LongOrFloat(Type x) { return IsFloating(x) ? Type::kFloat : Type::kLong; }

constexpr BarFunction kFunctions[] = {
    Row<Count>("count", Operands::kNone, false, Long),
    Row<First>("first", Operands::kOne, false, Same),
    Row<Last>("last", Operands::kOne, false, Same),
    Row<Min>("min", Operands::kOne, false, Same),
    Row<Max>("max", Operands::kOne, false, Same),
    Row<Sum>("sum", Operands::kOne, true, LongOrFloat),
    Row<Avg>("avg", Operands::kOne, true, Float),
    Row<Twavg>("twavg", Operands::kOne, true, Float, /*over_time=*/true),
    Row<Wavg>("wavg", Operands::kWeighted, true, Float),
};

}  // namespace

std::span<const BarFunction> BarFunctions() { return kFunctions; }

}  // namespace tickstack::aggengine
