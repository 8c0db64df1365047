#pragma once

// Sums of floats that do not depend on the order of their terms. A term can also be subtracted
// again. So bars do not depend on the order in which ticks arrive, and a late quote can be
// corrected.
//
//   ExactSum        a sum, in three words of memory
//   ExactSumRun     adds consecutive terms of a sum in a register first (exact_sum_run.h)
//   ExactIntegral   the sums of value * ns and of ns, for a mean over time (exact_integral.h)
//   ExactIntegrals  an ExactIntegral for any range of a batch's rows (exact_integral.h)
//
//   word 2            word 1            word 0          192 bits, two's complement; the unit is
//   [ 111 bits and sign ........ | 80 bits of fraction ]    2^-80, about 8e-25
//
// Each term is truncated to a multiple of the unit and added as an integer. So the same terms give
// the same bits in any order, and in all four classes. A product of a price with eight decimals and
// a size is exact. Callers leave out terms of 2^80 and more, infinities and nulls (InRange). A sum
// of 2^31 terms cannot overflow. Only Value rounds, once.
//
// Cost: about 3 ns per term. Threads: one owner.

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

// Splits a value that will be multiplied by ns. Truncates it before the multiplication, so that the
// products of two parts of an interval add up to the product of the whole.
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

// True if the term can be added: it is not null, and its magnitude is below 2^80.
inline bool InRange(double term) { return std::fabs(term) < 0x1p80; }
// True if the value can be added with AddOverTime: it is not null, and its magnitude is below 2^60.
inline bool InRangeByTime(double value) { return std::fabs(value) < 0x1p60; }

// Memory filled with zeros is an empty sum.
class ExactSum {
 public:
  // Returns a sum of that many units.
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
  // Adds value * ns; subtracts it if `take_out`. The value must be InRangeByTime, and ns below 2^47
  // (about 39 hours). The same value and ns always give the same term.
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
    // Take the top 64 bits. Lower bits only matter for a tie, so one sticky bit stands for them.
    const int zeros = __builtin_clzll(words[top]);
    const uint64_t next = top > 0 ? words[top - 1] : 0;
    uint64_t leading = words[top] << zeros | next >> 1 >> (63 - zeros);
    uint64_t below = zeros > 0 ? next << zeros : next;
    if (top > 1) below |= words[0];
    if (below != 0) leading |= 1;
    // Make a power of two, from 2^-143 to 2^48, from its bits: a call of ldexp would take more time
    // than the rest of this function.
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
    // Shift in two steps, since shifting a word by 64 is undefined.
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
