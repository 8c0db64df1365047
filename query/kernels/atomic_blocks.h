#pragma once

// The operators on blocks of int64 or double items: loops over contiguous memory that the compiler
// vectorizes. `a`, `b` and `out` have n items each; `out` overlaps neither input.

#include <cstddef>
#include <cstdint>

#include "query/kernels/type_rules.h"

namespace tickstack::query {

// Integers wrap. A null operand gives null, except that lesser and greater treat it as the smallest
// number. Division by zero gives null for integers, and infinity for floats.
void ArithmeticBlock(Arithmetic op, const int64_t* a, const int64_t* b, int64_t* out, size_t n);
void ArithmeticBlock(Arithmetic op, const double* a, const double* b, double* out, size_t n);

// Write 1 or 0 for each item. Nulls come first, and floats are compared with tolerance.
void CompareBlock(Comparison op, const int64_t* a, const int64_t* b, uint8_t* out, size_t n);
void CompareBlock(Comparison op, const double* a, const double* b, uint8_t* out, size_t n);

}  // namespace tickstack::query
