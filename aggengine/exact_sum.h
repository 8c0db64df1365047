#pragma once

// Sums of floats that do not depend on the order of their terms, and from which a term can be
// subtracted again. So bars are the same whatever order ticks arrive in, and a late quote can be
// corrected.
//
//   ExactSum        a sum, in three words of memory
//   ExactSumRun     consecutive terms of one sum, added up in a register first (exact_sum_run.h)
//   ExactIntegral   the sum of value * ns and of ns: a mean over time (exact_integral.h)
//   ExactIntegrals  the same for any range of a batch's rows (exact_integral.h)
//
//   word 2            word 1            word 0          192 bits, two's complement; the unit is
//   [ 111 bits and sign ........ | 80 bits of fraction ]    2^-80, about 8e-25
//
// Each term is truncated to a multiple of the unit and added as an integer, so any order of the
// same terms gives the same bits, and so do all members of the family. A product of a price with
// eight decimals and a size is exact. Terms of 2^80 and more, infinities and nulls are not added
// (InRange). 2^31 terms fit. Reading rounds once.
//
// Cost: some 3 ns per term. Threads: one owner.

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tickstack::aggengine {

namespace internal {

inline constexpr int kFractionBits = 80;

struct Parts {
  uint64_t mantissa;
  int exponent;  // The value is mantissa * 2^exponent.
  bool negative;
};

inline Parts Split(double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  const auto biased = static_cast<int>(bits >> 52 & 0x7ff);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (biased == 0) return {fraction, -1074, bits >> 63 != 0};
  return {fraction | uint64_t{1} << 52, biased - 1075, bits >> 63 != 0};
}

// Splits a value that is to be multiplied by ns. It is truncated before the multiplication, so that
// two parts of an interval add up to the whole.
inline Parts SplitOverTime(double value) {
  Parts x = Split(value);
  const int cut = -kFractionBits - x.exponent;
  if (cut > 0) {
    x.mantissa = cut < 64 ? x.mantissa >> cut : 0;
    x.exponent = -kFractionBits;
  }
  return x;
}

}  // namespace internal

// True if a term is added: not null, and below 2^80. InRangeByTime, for a value times ns: below
// 2^60.
inline bool InRange(double term) { return std::fabs(term) < 0x1p80; }
inline bool InRangeByTime(double value) { return std::fabs(value) < 0x1p60; }

// Zero bits are the empty sum.
class ExactSum {
 public:
  // Returns the sum that is this integer, in units.
  static ExactSum FromUnits(__int128 units) {
    ExactSum sum;
    sum.words_[0] = static_cast<uint64_t>(units);
    sum.words_[1] = static_cast<uint64_t>(units >> 64);
    sum.words_[2] = units < 0 ? UINT64_MAX : 0;
    return sum;
  }

  // Adds a term that is InRange.
  void Add(double term) {
    const internal::Parts parts = internal::Split(term);
    AddScaled(parts.mantissa, parts.exponent, parts.negative);
  }
  // Adds a * b, unrounded. The product must be InRange.
  void AddProduct(double a, double b) {
    const internal::Parts x = internal::Split(a), y = internal::Split(b);
    AddScaled(static_cast<unsigned __int128>(x.mantissa) * y.mantissa, x.exponent + y.exponent,
              x.negative != y.negative);
  }
  // Adds value * ns, or subtracts it. `value` is InRangeByTime, and ns below 2^47, about a day and
  // a half. The same value and ns always give the same term.
  void AddOverTime(double value, int64_t ns, bool take_out = false) {
    const internal::Parts x = internal::SplitOverTime(value);
    AddScaled(static_cast<unsigned __int128>(x.mantissa) * static_cast<uint64_t>(ns), x.exponent,
              x.negative != take_out);
  }
  void AddSum(const ExactSum& other) {
    unsigned __int128 carry = 0;
    for (int i = 0; i < kWords; ++i) {
      carry += static_cast<unsigned __int128>(words_[i]) + other.words_[i];
      words_[i] = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
  }

  // Returns the nearest double.
  double Value() const {
    uint64_t words[kWords] = {words_[0], words_[1], words_[2]};
    const bool negative = words[2] >> 63 != 0;
    if (negative) {
      unsigned __int128 carry = 1;
      for (uint64_t& word : words) {
        carry += ~word;
        word = static_cast<uint64_t>(carry);
        carry >>= 64;
      }
    }
    int top = kWords - 1;
    while (top > 0 && words[top] == 0) --top;
    if (words[top] == 0) return 0;
    // The top 64 bits; whatever is below them only matters for a tie, as one sticky bit.
    const int zeros = __builtin_clzll(words[top]);
    const uint64_t next = top > 0 ? words[top - 1] : 0;
    uint64_t leading = words[top] << zeros | next >> 1 >> (63 - zeros);
    uint64_t below = zeros > 0 ? next << zeros : next;
    if (top > 1) below |= words[0];
    if (below != 0) leading |= 1;
    // A power of two from 2^-143 to 2^48, made from its bits: ldexp is a call, and slower than
    // everything else here.
    const int exponent = 64 * top - zeros - internal::kFractionBits;
    const uint64_t power_bits = static_cast<uint64_t>(1023 + exponent) << 52;
    double power = 0;
    std::memcpy(&power, &power_bits, sizeof power);
    const double rounded = static_cast<double>(leading) * power;
    return negative ? -rounded : rounded;
  }

  friend bool operator==(const ExactSum&, const ExactSum&) = default;

 private:
  static constexpr int kWords = 3;

  void AddScaled(unsigned __int128 magnitude, int exponent, bool negative) {
    int shift = exponent + internal::kFractionBits;
    if (shift < 0) {
      magnitude = shift > -128 ? magnitude >> -shift : 0;
      shift = 0;
    }
    const auto low = static_cast<uint64_t>(magnitude),
               high = static_cast<uint64_t>(magnitude >> 64);
    const int bits = shift % 64;
    // Shifting a word by 64 is undefined: in two steps.
    uint64_t term[kWords] = {low << bits, high << bits | low >> 1 >> (63 - bits),
                             high >> 1 >> (63 - bits)};
    if (shift >= 64) {  // Never 128: a value in range has its lowest bit below 2^27.
      term[2] = term[1];
      term[1] = term[0];
      term[0] = 0;
    }
    const uint64_t flip = negative ? UINT64_MAX : 0;
    unsigned __int128 carry = negative ? 1 : 0;
    for (int i = 0; i < kWords; ++i) {
      carry += static_cast<unsigned __int128>(words_[i]) + (term[i] ^ flip);
      words_[i] = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
  }

  uint64_t words_[kWords] = {};
};

}  // namespace tickstack::aggengine
