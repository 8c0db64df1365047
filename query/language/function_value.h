#pragma once

// Functions inside of values: as the bytes that stand for them on the wire, so that a function may
// be an item of a list, be the result of a query, and come back in a request.
//
//   64  lambda       NUL-terminated namespace, char vector of source. A built-in that has no number
//                    of its own travels as a lambda whose source is its name.
//   65  unary        1 byte: the number of :: +: -: *: %: &: |: ^: =: <: >: $: ,: #: _: ~: !: ?: @:
//                    .: 0:: 1:: 2:: avg last sum prd min max exit getenv abs sqrt log exp sin asin
//                    cos acos tan atan enlist var dev hopen. 65 00 is the generic null; 65 ff an
//                    argument that is missing.
//   66  operator     1 byte: : + - * % & | ^ = < > $ , # _ ~ ! ? @ . 0: 1: 2: in within like bin ss
//                    insert wsum wavg div xexp setenv binr cov cor
//   67  iterator     1 byte: ' / \ ': /: \:
//   68  projection   count, function, arguments
//   69  composition  count, functions: the last one first
//   6a..6f derived   by ' / \ ': /: \: of the value that follows
//
// The numbers are not in the vendor's documentation; they are in the order in which public decoders
// have them, which agree up to `2::`, a number that one of them leaves out.

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/language/function.h"
#include "table/function_text.h"
#include "table/value.h"

namespace tickstack::query {

// Errors: `limit`, and those of copying out what a projection holds.
absl::StatusOr<Value> ValueOf(const Function& function, Budget& budget);

// `value` is a function (100 to 111) but the generic null. A lambda's source is parsed, and
// charged. Errors: `nyi` for a primitive that the subset has not, `type` for what is no function,
// and those
//         of the parser.
absl::StatusOr<Function> FunctionOf(const Value& value, Budget& budget);

// A lambda, or a built-in or function of the process by its name.
absl::StatusOr<Function> FunctionFromSource(std::string_view source, Budget& budget,
                                            std::string_view space = ".");

// What stands for an argument that is missing, and for an iterator that has no function.
Value MissingArgument();
bool IsMissingArgument(const Value& value);
Value IteratorValue(Iterator iterator);
std::optional<Iterator> IteratorOf(const Value& value);

// The primitive of one argument that an operator with a colon is, #: for #; nullopt: there is none.
// In a parse tree with two arguments it assigns through the operator, a#:1.
std::optional<Value> UnaryFormOf(std::string_view op);
// The operator of such a primitive; nullptr: it is none.
const Builtin* OperatorOfUnaryForm(const Value& value);

// The namespace of a lambda off the wire: `.`, `.rdb`.
std::string SpaceOf(const Value& lambda);

}  // namespace tickstack::query
