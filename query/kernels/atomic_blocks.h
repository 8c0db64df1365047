#pragma once

// The operators over blocks of items in their domain, int64 or double: loops over contiguous memory
// that the compiler turns into vector code. `a`, `b` and `out` hold n items each; `out` overlaps
// neither.

#include <cstddef>
#include <cstdint>

#include "query/kernels/type_rules.h"

namespace tickstack::query {

// Integers wrap; what a null goes into is null, except that the lesser and greater compare it as
// the smallest number. Divided by zero an integer is null, a float infinite.
void ArithmeticBlock(AtomicOp op, const int64_t* a, const int64_t* b, int64_t* out, size_t n);
void ArithmeticBlock(AtomicOp op, const double* a, const double* b, double* out, size_t n);

// Nulls first, floats within comparison tolerance.
void CompareBlock(AtomicOp op, const int64_t* a, const int64_t* b, uint8_t* out, size_t n);
void CompareBlock(AtomicOp op, const double* a, const double* b, uint8_t* out, size_t n);

}  // namespace tickstack::query
