#pragma once

// `vs` and `sv` for numbers: digits in given bases, bytes and bits.

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the digits of whole numbers. For a single base there are as many digits as the number
// needs; for several bases, one digit for each. If the first of several bases is 0, its digit is
// what remains of the number, however large. For a vector of numbers, the result is a matrix with
// one row per digit.
//
// Errors: `type` for anything but whole numbers, `domain` for a base below 2 or a number below 0,
//         `nyi` for a list of lists.
absl::StatusOr<Value> DigitsOf(const Value& bases, const Value& numbers, Budget& budget);

// Returns the number with these digits: the sum of each digit times the product of the later bases.
// There must be one base, or one for each digit: `length` otherwise. Its type is that of products
// and sums of the bases and digits.
absl::StatusOr<Value> NumberOfDigits(const Value& bases, const Value& digits, Budget& budget);

// Return the bytes or the bits of an atom, the most significant first.
absl::StatusOr<Value> BytesOfAtom(const Value& atom);
absl::StatusOr<Value> BitsOfAtom(const Value& atom);

// Return the atom with these bytes or bits, the most significant first: a byte for 8 bits, a short
// for 2 bytes, an int for 4, a long for 8, a guid for 16. `length` for other counts.
absl::StatusOr<Value> AtomOfBytes(const Value& bytes);
absl::StatusOr<Value> AtomOfBits(const Value& bits);

}  // namespace tickstack::query
