#pragma once

// `vs` and `sv` of numbers: their digits to bases, their bytes and bits.

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

// The number that digits spell: each times the bases behind it. For one base, or one a digit:
// `length`. The types are those of * and +.
absl::StatusOr<Value> NumberOfDigits(const Value& bases, const Value& digits, Budget& budget);

// The bytes of an atom, the most significant first; its bits.
absl::StatusOr<Value> BytesOfAtom(const Value& atom);
absl::StatusOr<Value> BitsOfAtom(const Value& atom);

// The number of 2, 4 or 8 bytes; the guid of 16. The byte of 8 bits, and so on. `length` for
// others.
absl::StatusOr<Value> AtomOfBytes(const Value& bytes);
absl::StatusOr<Value> AtomOfBits(const Value& bits);

}  // namespace tickstack::query
