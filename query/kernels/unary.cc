#include "query/kernels/unary.h"

#include <algorithm>

#include "query/kernels/atomic.h"
#include "query/kernels/type_rules.h"

namespace tickstack::query {
namespace {

// Returns f(type, element) of each element as flags.
template <typename F>
absl::StatusOr<Value> FlagsOf(const Value& vector, Budget& budget, F f) {
  TS_RETURN_IF_ERROR(budget.Charge(vector.count()));
  VectorWriter<uint8_t> out(Type::kBoolean, vector.count());
  VisitElementType(vector.type(), [&]<typename T>(std::type_identity<T>) {
    std::ranges::transform(vector.span<T>(), out.data(),
                           [&](const T& element) { return uint8_t{f(vector.type(), element)}; });
  });
  return std::move(out).Finish();
}

}  // namespace

absl::StatusOr<Value> NullFlags(const Value& x, Budget& budget) {
  return MapSimple(x, budget, [&](const Value& vector) -> absl::StatusOr<Value> {
    if (vector.is(Type::kSymbol)) {
      return ApplyAtomic(Comparison::kEqual, vector, Value::Symbol(""), budget);
    }
    return FlagsOf(vector, budget, []<typename T>(Type type, const T& element) {
      return IsNullElement(type, element);
    });
  });
}

absl::StatusOr<Value> NotFlags(const Value& x, Budget& budget) {
  return MapSimple(x, budget, [&](const Value& vector) -> absl::StatusOr<Value> {
    if (vector.is(Type::kSymbol)) return TypeError("not of symbols");
    return FlagsOf(vector, budget,
                   []<typename T>(Type, const T& element) { return element == T{}; });
  });
}

absl::StatusOr<Value> Negate(const Value& x, Budget& budget) {
  return MapSimple(x, budget, [&](const Value& vector) -> absl::StatusOr<Value> {
    const Type type = vector.type();
    if (!SumType(type).has_value()) return TypeError("neg of {}", NameOf(type));
    // Subtracts from an int 0, which keeps signed types and widens narrow ones, as `neg` does. Only
    // shorts need a loop of their own.
    if (type == Type::kShort) {
      VectorWriter<int16_t> out(type, vector.count());
      std::ranges::transform(vector.span<int16_t>(), out.data(), [](int16_t element) {
        return static_cast<int16_t>(-element);  // The null is its own negative.
      });
      return std::move(out).Finish();
    }
    const Value zero = type == Type::kReal ? Value::Real(0) : Value::Int(0);
    return ApplyAtomic(Arithmetic::kSubtract, zero, vector, budget);
  });
}

absl::StatusOr<Value> Absolute(const Value& x, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const Value negative, Negate(x, budget));
  return ApplyAtomic(Arithmetic::kGreater, x, negative, budget);
}

}  // namespace tickstack::query
