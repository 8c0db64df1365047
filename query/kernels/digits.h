#pragma once

// `vs` and `sv` for numbers: digits in given bases, bytes and bits.

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the digits of whole numbers: as many as needed for a single base, or one for each of
// several bases. A first base of 0 gets the remaining value. For a vector of numbers, the result is
// a matrix with one row per digit. Errors: `type` for what is no whole number, `domain` for a base
// below 2 or a number below 0, `nyi` for a
//         list of lists.
absl::StatusOr<Value> DigitsOf(const Value& bases, const Value& numbers, Budget& budget);

// Returns the number that digits spell: the sum of each digit times the product of the later bases.
// One base, or one per digit: `length` otherwise. The types are those of * and +.
absl::StatusOr<Value> NumberOfDigits(const Value& bases, const Value& digits, Budget& budget);

// Return the bytes of an atom, the most significant first, and its bits.
absl::StatusOr<Value> BytesOfAtom(const Value& atom);
absl::StatusOr<Value> BitsOfAtom(const Value& atom);

// Returns the number of 2, 4 or 8 bytes, the guid of 16 bytes, the byte of 8 bits, and so on.
// `length` for other counts.
absl::StatusOr<Value> AtomOfBytes(const Value& bytes);
absl::StatusOr<Value> AtomOfBits(const Value& bits);

}  // namespace tickstack::query
