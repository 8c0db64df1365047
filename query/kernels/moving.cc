#include "query/kernels/moving.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "base/scratch.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/kernels/casts.h"
#include "query/kernels/domain_blocks.h"
#include "query/kernels/statistics.h"
#include "query/kernels/type_rules.h"
#include "query/kernels/unary.h"

namespace tickstack::query {
namespace {

// Computes the aggregates of windows of `width` states; combine(earlier, later) must be
// associative.
template <typename State, typename Combine>
class Windows {
 public:
  // `before` is the state that fills an incomplete window before the first item.
  Windows(size_t width, State before, Combine combine)
      : combine_(combine), states_(width, before), beginning_(before) {}

  // Returns the aggregate of the window that ends with this item.
  State Add(State item) {
    // Before at_ the states are the block's items; from at_ on they are aggregates of the ends of
    // the previous block.
    beginning_ = at_ == 0 ? item : combine_(beginning_, item);
    states_[at_] = std::move(item);
    if (++at_ < states_.size()) return combine_(states_[at_], beginning_);
    for (size_t i = states_.size() - 1; i > 0; --i) {
      states_[i - 1] = combine_(states_[i - 1], states_[i]);
    }
    at_ = 0;
    return beginning_;
  }

 private:
  Combine combine_;
  ScratchVector<State> states_;
  State beginning_;  // The aggregate of the block's items so far.
  size_t at_ = 0;
};

// Runs a column through windows: `make` turns items into states, `finish` turns states into
// results.
template <typename D, typename State, typename Combine, typename Make, typename Finish>
absl::StatusOr<Value> MapWindows(size_t width, const Slice& slice, Type result, Budget& budget,
                                 State before, Combine combine, Make make, Finish finish) {
  width = std::clamp<size_t>(slice.count(), 1, width);
  TS_RETURN_IF_ERROR(budget.Charge(width, sizeof(State)));
  Windows<State, Combine> windows(width, before, combine);
  return MapInDomain<D>(slice, result, budget, [&](std::span<D> block) {
    for (D& item : block) item = finish(windows.Add(make(item)));
  });
}

absl::Status CheckFlat(std::string_view name, const Slice& slice) {
  if (slice.type() != Type::kList || slice.count() == 0) return absl::OkStatus();
  return NyiError(fmt::format("{} of a list", name));
}

struct PartialMean {
  double sum = 0;
  int64_t count = 0;
};

// A count, a mean, and the sum of the squared differences to it.
struct Spread {
  double count = 0;
  double mean = 0;
  double squares = 0;
};

// Returns the spread of two sets together (Chan, Golub and LeVeque, 1979).
Spread JoinSpreads(const Spread& a, const Spread& b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  const double count = a.count + b.count, apart = b.mean - a.mean;
  return {count, a.mean + apart * (b.count / count),
          a.squares + b.squares + apart * apart * (a.count * b.count / count)};
}

// Returns the larger of two; a null is the smallest.
template <typename D>
D LargerItem(D a, D b) {
  if (IsNullInDomain(a)) return b;
  return b > a ? b : a;  // A NaN is not larger.
}
template <typename D>
D SmallerItem(D a, D b) {
  if (IsNullInDomain(a)) return a;
  return a < b ? a : b;
}

template <typename D>
absl::StatusOr<Value> MovingBest(bool max, size_t width, const Slice& slice, Budget& budget) {
  const Type type = slice.type();
  const D before = max ? MinusInfinity<D>(type) : PlusInfinity<D>(type);
  const auto as_is = [](D item) { return item; };
  return max ? MapWindows<D>(width, slice, type, budget, before, LargerItem<D>, as_is, as_is)
             : MapWindows<D>(width, slice, type, budget, before, SmallerItem<D>, as_is, as_is);
}

absl::StatusOr<Value> MovingBestOf(bool max, size_t width, const Slice& slice, Budget& budget) {
  const std::string_view name = max ? "mmax" : "mmin";
  const Type type = slice.type();
  TS_RETURN_IF_ERROR(CheckFlat(name, slice));
  if (type == Type::kList) return Materialise(slice, budget);
  if (!IsFixedWidth(type) || type == Type::kGuid) return TypeError("{} of {}", name, NameOf(type));
  return IsFloating(type) ? MovingBest<double>(max, width, slice, budget)
                          : MovingBest<int64_t>(max, width, slice, budget);
}

// Returns as many weights as there are items; an atom is repeated.
absl::StatusOr<Value> WeightsOf(const Value& x, size_t items, Budget& budget) {
  if (!x.is_atom() && !x.is_vector()) return TypeError("ema by a {}", NameOf(x.type()));
  if (!SumType(x.type()).has_value() || IsTemporal(x.type())) {
    return TypeError("ema by a {}", NameOf(x.type()));
  }
  if (x.is_vector() && x.count() != items) {
    return LengthError("{} weights for {} items", x.count(), items);
  }
  return CastColumn(Slice::Of(x.is_atom() ? Enlist(x) : x), {Type::kFloat, std::nullopt}, budget);
}

}  // namespace

absl::StatusOr<Value> MovingSum(size_t width, const Slice& slice, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckNumbers("msum", slice));
  if (slice.type() == Type::kList) return Materialise(slice, budget);
  const Type type = *SumType(slice.type());
  if (IsFloating(type)) {
    return MapWindows<double>(
        width, slice, type, budget, 0.0, [](double a, double b) { return a + b; },
        [](double item) { return std::isnan(item) ? 0 : item; }, [](double sum) { return sum; });
  }
  return MapWindows<int64_t>(
      width, slice, type, budget, uint64_t{0}, [](uint64_t a, uint64_t b) { return a + b; },
      [](int64_t item) { return IsNullInDomain(item) ? 0 : static_cast<uint64_t>(item); },
      [](uint64_t sum) { return static_cast<int64_t>(sum); });
}

absl::StatusOr<Value> MovingCount(size_t width, const Slice& slice, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckFlat("mcount", slice));
  TS_ASSIGN_OR_RETURN(const Value items, Materialise(slice, budget));
  if (items.is_list()) return EmptyVector(Type::kInt);
  TS_ASSIGN_OR_RETURN(Value nulls, NullFlags(items, budget));
  const auto as_is = [](int64_t item) { return item; };
  return MapWindows<int64_t>(
      width, Slice::Of(std::move(nulls)), Type::kInt, budget, int64_t{0},
      [](int64_t a, int64_t b) { return a + b; }, [](int64_t null) { return 1 - null; }, as_is);
}

absl::StatusOr<Value> MovingAverage(size_t width, const Slice& slice, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckNumbers("mavg", slice));
  if (slice.type() == Type::kList) return EmptyVector(Type::kFloat);
  return MapWindows<double>(
      width, slice, Type::kFloat, budget, PartialMean{},
      [](const PartialMean& a, const PartialMean& b) {
        return PartialMean{a.sum + b.sum, a.count + b.count};
      },
      [](double item) { return std::isnan(item) ? PartialMean{} : PartialMean{item, 1}; },
      [](const PartialMean& total) { return total.sum / static_cast<double>(total.count); });
}

absl::StatusOr<Value> MovingDeviation(size_t width, const Slice& slice, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckNumbers("mdev", slice));
  if (slice.type() == Type::kList) return EmptyVector(Type::kFloat);
  return MapWindows<double>(
      width, slice, Type::kFloat, budget, Spread{}, JoinSpreads,
      [](double item) { return std::isnan(item) ? Spread{} : Spread{1, item, 0}; },
      [](const Spread& spread) { return std::sqrt(spread.squares / spread.count); });
}

absl::StatusOr<Value> MovingMax(size_t width, const Slice& slice, Budget& budget) {
  return MovingBestOf(true, width, slice, budget);
}

absl::StatusOr<Value> MovingMin(size_t width, const Slice& slice, Budget& budget) {
  return MovingBestOf(false, width, slice, budget);
}

absl::StatusOr<Value> ExponentialAverage(const Value& weights, const Slice& slice, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckNumbers("ema", slice));
  if (slice.type() == Type::kList) return EmptyVector(Type::kFloat);
  if (IsTemporal(slice.type())) return TypeError("ema of {}", NameOf(slice.type()));
  TS_ASSIGN_OR_RETURN(const Value floats, WeightsOf(weights, slice.count(), budget));
  const std::span<const double> x = floats.span<double>();
  const size_t step = weights.is_atom() ? 0 : 1;
  double average = 0;
  size_t i = 0;
  return MapInDomain<double>(slice, Type::kFloat, budget, [&](std::span<double> block) {
    for (double& item : block) {
      const double weight = x[i * step];
      average = (i++ == 0 ? item : average) * (1 - weight) + weight * item;
      item = average;
    }
  });
}

}  // namespace tickstack::query
