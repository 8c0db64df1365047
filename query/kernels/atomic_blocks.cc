#include "query/kernels/atomic_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

#include "base/check.h"
#include "query/columns/elements.h"

namespace tickstack::query {
namespace {

bool IsNull(int64_t value) { return value == kNullLong; }

template <typename D>
bool Less(D a, D b) {
  if constexpr (std::is_same_v<D, double>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
    return a < b && !TolerantlyEqual(a, b);
  } else {
    return a < b;
  }
}
template <typename D>
bool Equal(D a, D b) {
  if constexpr (std::is_same_v<D, double>)
    return TolerantlyEqual(a, b);
  else
    return a == b;
}

// Sums, differences and products modulo 2^64.
int64_t WrappedSum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t WrappedDifference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t WrappedProduct(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <typename D, typename F>
void Loop(const D* a, const D* b, D* out, size_t n, F f) {
  for (size_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
}

// Computes x div y, x mod y and x xbar y of integers that are not null. The remainder has the
// divisor's sign, so that the quotient is rounded down.
int64_t Modulo(int64_t x, int64_t y) {
  const int64_t rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
int64_t Quotient(int64_t x, int64_t y) {
  const int64_t rest = x % y;
  return x / y - (rest != 0 && (rest < 0) != (y < 0) ? 1 : 0);
}
// Divides many x by one y of at least 2^12 without the processor's division, which takes 20 cycles.
// A quotient by the reciprocal is off by less than one, because all quotients are below 2^51 and a
// double has 53 bits; the remainder shows in which direction.
class Divisor {
 public:
  // Returns the divisor that a block has in common; a block of an atom has one.
  static std::optional<Divisor> Common(const int64_t* divisors, size_t n) {
    const bool serves = n > 1 && divisors[0] >= (int64_t{1} << 12) &&
                        divisors[0] <= (int64_t{1} << 61) &&
                        std::memcmp(divisors, divisors + 1, (n - 1) * sizeof(int64_t)) == 0;
    return serves ? std::optional(Divisor(divisors[0])) : std::nullopt;
  }
  int64_t Quotient(int64_t x) const { return Divide(x).quotient; }
  int64_t Modulo(int64_t x) const { return Divide(x).rest; }

 private:
  struct Division {
    int64_t quotient, rest;
  };
  explicit Divisor(int64_t divisor)
      : divisor_(divisor), reciprocal_(1.0 / static_cast<double>(divisor)) {}
  Division Divide(int64_t x) const {
    const auto quotient = static_cast<int64_t>(std::floor(static_cast<double>(x) * reciprocal_));
    const int64_t rest = WrappedDifference(x, WrappedProduct(quotient, divisor_));
    const int64_t off = int64_t{rest >= divisor_} - int64_t{rest < 0};
    return {quotient + off, rest - off * divisor_};
  }

  int64_t divisor_;
  double reciprocal_;
};

int64_t RoundedDown(int64_t size, int64_t x) { return WrappedDifference(x, Modulo(x, size)); }

// Unlike C: a null to the power of nothing is null, and 1 to the power of a null is null.
double Power(double x, double y) { return std::isnan(x) ? x : std::isnan(y) ? y : std::pow(x, y); }

double Modulo(double x, double y) { return x - y * std::floor(x / y); }
// Rounds down to a multiple. A float that equals the next multiple by `=` counts as that multiple:
// 0.1 xbar 0.3 is 0.3, although 0.3%0.1 is less than 3.
double RoundedDown(double size, double x) {
  const double below = std::floor(x / size), next = size * (below + 1);
  return TolerantlyEqual(x, next) ? next : size * below;
}

template <typename D, typename F>
void Flag(const D* a, const D* b, uint8_t* out, size_t n, F f) {
  for (size_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
}

template <typename D>
void Compare(Comparison op, const D* a, const D* b, uint8_t* out, size_t n) {
  switch (op) {
    case Comparison::kEqual:
      return Flag(a, b, out, n, [](D x, D y) { return Equal(x, y); });
    case Comparison::kNotEqual:
      return Flag(a, b, out, n, [](D x, D y) { return !Equal(x, y); });
    case Comparison::kLess:
      return Flag(a, b, out, n, [](D x, D y) { return Less(x, y); });
    case Comparison::kGreaterThan:
      return Flag(a, b, out, n, [](D x, D y) { return Less(y, x); });
    case Comparison::kLessOrEqual:
      return Flag(a, b, out, n, [](D x, D y) { return !Less(y, x); });
    case Comparison::kGreaterOrEqual:
      return Flag(a, b, out, n, [](D x, D y) { return !Less(x, y); });
  }
  TS_CHECK(false);
}

}  // namespace

void ArithmeticBlock(Arithmetic op, const int64_t* a, const int64_t* b, int64_t* out, size_t n) {
  const auto with_nulls = [&](auto f) {
    Loop(a, b, out, n,
         [f](int64_t x, int64_t y) { return IsNull(x) || IsNull(y) ? kNullLong : f(x, y); });
  };
  switch (op) {
    case Arithmetic::kAdd:
      return with_nulls([](int64_t x, int64_t y) { return WrappedSum(x, y); });
    case Arithmetic::kSubtract:
      return with_nulls([](int64_t x, int64_t y) { return WrappedDifference(x, y); });
    case Arithmetic::kMultiply:
      return with_nulls([](int64_t x, int64_t y) { return WrappedProduct(x, y); });
    case Arithmetic::kFloorDivide:
      if (const std::optional<Divisor> divisor = Divisor::Common(b, n)) {
        return with_nulls([&](int64_t x, int64_t) { return divisor->Quotient(x); });
      }
      return with_nulls([](int64_t x, int64_t y) { return y == 0 ? kNullLong : Quotient(x, y); });
    case Arithmetic::kModulo:
      if (const std::optional<Divisor> divisor = Divisor::Common(b, n)) {
        return with_nulls([&](int64_t x, int64_t) { return divisor->Modulo(x); });
      }
      return with_nulls([](int64_t x, int64_t y) { return y == 0 ? kNullLong : Modulo(x, y); });
    case Arithmetic::kRoundDown:
      if (const std::optional<Divisor> divisor = Divisor::Common(a, n)) {
        return with_nulls(
            [&](int64_t, int64_t y) { return WrappedDifference(y, divisor->Modulo(y)); });
      }
      return with_nulls(
          [](int64_t x, int64_t y) { return x == 0 ? kNullLong : RoundedDown(x, y); });
    case Arithmetic::kLesser:
      return Loop(a, b, out, n, [](int64_t x, int64_t y) { return std::min(x, y); });
    case Arithmetic::kGreater:
      return Loop(a, b, out, n, [](int64_t x, int64_t y) { return std::max(x, y); });
    case Arithmetic::kFill:
      return Loop(a, b, out, n, [](int64_t x, int64_t y) { return IsNull(y) ? x : y; });
    case Arithmetic::kDivide:
    case Arithmetic::kPower:
    case Arithmetic::kLogarithm:
      break;  // Their results are floats.
  }
  TS_CHECK(false);
}

void ArithmeticBlock(Arithmetic op, const double* a, const double* b, double* out, size_t n) {
  switch (op) {
    case Arithmetic::kAdd:
      return Loop(a, b, out, n, std::plus<double>());
    case Arithmetic::kSubtract:
      return Loop(a, b, out, n, std::minus<double>());
    case Arithmetic::kMultiply:
      return Loop(a, b, out, n, std::multiplies<double>());
    case Arithmetic::kDivide:
      return Loop(a, b, out, n, std::divides<double>());
    case Arithmetic::kFloorDivide:
      return Loop(a, b, out, n, [](double x, double y) { return std::floor(x / y); });
    case Arithmetic::kModulo:
      return Loop(a, b, out, n, [](double x, double y) { return Modulo(x, y); });
    case Arithmetic::kRoundDown:
      return Loop(a, b, out, n, [](double x, double y) { return RoundedDown(x, y); });
    case Arithmetic::kPower:
      return Loop(a, b, out, n, [](double x, double y) { return Power(x, y); });
    case Arithmetic::kLogarithm:
      return Loop(a, b, out, n, [](double x, double y) { return std::log(y) / std::log(x); });
    case Arithmetic::kFill:
      return Loop(a, b, out, n, [](double x, double y) { return std::isnan(y) ? x : y; });
    case Arithmetic::kLesser:
      return Loop(a, b, out, n, [](double x, double y) { return Less(y, x) ? y : x; });
    case Arithmetic::kGreater:
      return Loop(a, b, out, n, [](double x, double y) { return Less(x, y) ? y : x; });
  }
  TS_CHECK(false);
}

void CompareBlock(Comparison op, const int64_t* a, const int64_t* b, uint8_t* out, size_t n) {
  Compare(op, a, b, out, n);
}
void CompareBlock(Comparison op, const double* a, const double* b, uint8_t* out, size_t n) {
  Compare(op, a, b, out, n);
}

}  // namespace tickstack::query
