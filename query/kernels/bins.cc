#include "query/kernels/bins.h"

#include <algorithm>
#include <cmath>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/kernels/unary.h"

namespace tickstack::query {
namespace {

template <typename T>
bool IsBelow(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  }
  return a < b;
}

// Returns for how many of the first `count` places f is true, given that these places come first.
template <typename F>
size_t CountTrue(size_t count, F is_true) {
  size_t begin = 0;
  while (count > 0) {
    const size_t half = count / 2;
    if (is_true(begin + half)) {
      begin += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return begin;
}

absl::StatusOr<Value> SearchVector(bool last, const Value& x, const Value& y, Budget& budget) {
  if (x.type() != y.type())
    return TypeError("bin of {}s in {}s", NameOf(y.type()), NameOf(x.type()));
  TS_RETURN_IF_ERROR(budget.Charge(y.count(), sizeof(int64_t)));
  VectorWriter<int64_t> out(Type::kLong, y.count());
  // With `last`, finds the place of the last item that is at most `wanted`; otherwise of the first
  // item that is not below it.
  const auto search = [&](auto item, auto below) -> absl::Status {
    for (size_t i = 0; i < y.count(); ++i) {
      if (i % 4096 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
      const auto& wanted = item(y, i);
      const size_t before = CountTrue(x.count(), [&](size_t at) {
        return last ? !below(wanted, item(x, at)) : below(item(x, at), wanted);
      });
      out.data()[i] = static_cast<int64_t>(before) - int64_t{last};
    }
    return absl::OkStatus();
  };
  if (x.is(Type::kSymbol)) {
    const auto name = [](const Value& names, size_t i) { return names.symbols()[i]; };
    TS_RETURN_IF_ERROR(search(name, [](std::string_view a, std::string_view b) { return a < b; }));
  } else {
    TS_RETURN_IF_ERROR(VisitElementType(x.type(), [&]<typename T>(std::type_identity<T>) {
      const auto element = [](const Value& vector, size_t i) -> const T& {
        return vector.span<T>()[i];
      };
      return search(element, IsBelow<T>);
    }));
  }
  return std::move(out).Finish();
}

absl::StatusOr<Value> SearchAll(bool last, const Value& x, const Value& y, Budget& budget) {
  if (!x.is_vector()) {
    if (x.is_list() && x.count() > 0) return NyiError("bin of a list");
    if (!x.is_list()) return TypeError("bin in a {}", NameOf(x.type()));
  }
  return MapSimple(y, budget, [&](const Value& vector) -> absl::StatusOr<Value> {
    if (!x.is_list()) return SearchVector(last, x, vector, budget);
    return SearchVector(last, EmptyVector(vector.type()), vector, budget);
  });
}

}  // namespace

absl::StatusOr<Value> LastAtMost(const Value& x, const Value& y, Budget& budget) {
  return SearchAll(true, x, y, budget);
}

absl::StatusOr<Value> FirstAtLeast(const Value& x, const Value& y, Budget& budget) {
  return SearchAll(false, x, y, budget);
}

}  // namespace tickstack::query
