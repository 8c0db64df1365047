#pragma once

// Adds consecutive terms of an exact sum (exact_sum.h) to a register of 128 bits first, and the
// register to the sum once per 128 terms. The result has the same bits as if each term had been
// added to the sum separately, for a third of the cost.
//
// A term below 2^38 is below 2^118 in units of the sum, so 128 terms stay below 2^125 and fit into
// one signed number of 128 bits. Adding to it needs no third word and no branch on the term's sign.
// Larger terms, such as a price times a size with a product of 270 billion or more, are rare and
// are added to the sum directly.
//
// Threads: one owner.

#include <cmath>
#include <cstdint>

#include "aggengine/exact_sum.h"

namespace tickstack::aggengine {

class ExactSumRun {
 public:
  // These three functions add a term. Their preconditions are those of ExactSum's functions with
  // the same names.
  void Add(double term) {
    const internal::Parts x = internal::Split(term);
    if (!IsSmall(term)) return large_.Add(term);
    AddScaled(x.mantissa, x.exponent, x.negative);
  }
  void AddProduct(double a, double b) {
    if (!IsSmall(a * b)) return large_.AddProduct(a, b);
    const internal::Parts x = internal::Split(a), y = internal::Split(b);
    AddScaled(static_cast<unsigned __int128>(x.mantissa) * y.mantissa, x.exponent + y.exponent,
              x.negative != y.negative);
  }
  void AddOverTime(double value, int64_t ns) {
    if (!IsSmall(value * static_cast<double>(ns))) return large_.AddOverTime(value, ns);
    const internal::Parts x = internal::SplitOverTime(value);
    AddScaled(static_cast<unsigned __int128>(x.mantissa) * static_cast<uint64_t>(ns), x.exponent,
              x.negative);
  }

  // Adds the terms so far to a sum. May be called repeatedly.
  void AddTo(ExactSum& sum) {
    Carry();
    sum.AddSum(large_);
  }

 private:
  static constexpr int kTermsMax = 128;

  static bool IsSmall(double term) { return std::fabs(term) < 0x1p38; }

  void AddScaled(unsigned __int128 magnitude, int exponent, bool negative) {
    const int shift = exponent + internal::kFractionBits;
    if (shift >= 0) [[likely]] {
      // Zeros have the smallest exponent, so they are never shifted to the left.
      magnitude <<= shift;
    } else {
      magnitude = shift > -128 ? magnitude >> -shift : 0;
    }
    const auto term = static_cast<__int128>(magnitude);
    small_ += negative ? -term : term;
    if (++terms_ == kTermsMax) [[unlikely]]
      Carry();
  }

  void Carry() {
    large_.AddSum(ExactSum::FromUnits(small_));
    small_ = 0;
    terms_ = 0;
  }

  __int128 small_ = 0;
  int terms_ = 0;
  ExactSum large_;
};

}  // namespace tickstack::aggengine
