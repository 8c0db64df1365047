#pragma once

// Functions within values: the bytes that represent them on the wire. So a function can be an item
// of a list, be the result of a query, and return in a request.
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
// The vendor's documentation does not have the numbers; they are in the order of public decoders,
// which agree up to `2::`, a number that one of them omits.

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/language/function.h"
#include "table/function_text.h"
#include "table/value.h"

namespace tickstack::query {

// Errors: `limit`, and those of copying the contents of a projection.
absl::StatusOr<Value> ValueOf(const Function& function, Budget& budget);

// `value` is a function (100 to 111), but not the generic null. A lambda's source is parsed, and
// charged. Errors: `nyi` for a primitive outside of the subset, `type` for a value that is no
// function, and those of the parser.
absl::StatusOr<Function> FunctionOf(const Value& value, Budget& budget);

// Returns a lambda, or a built-in or function of the process by its name.
absl::StatusOr<Function> FunctionFromSource(std::string_view source, Budget& budget,
                                            std::string_view space = ".");

// Returns the value of a missing argument, and of an iterator without a function.
Value MissingArgument();
bool IsMissingArgument(const Value& value);
Value IteratorValue(Iterator iterator);
std::optional<Iterator> IteratorOf(const Value& value);

// Returns the primitive of one argument that is an operator with a colon, #: for #; nullopt if
// there is none. In a parse tree with two arguments it assigns through the operator, a#:1.
std::optional<Value> UnaryFormOf(std::string_view op);
// Returns the operator of such a primitive; nullptr if it is none.
const Builtin* OperatorOfUnaryForm(const Value& value);

// Returns the namespace of a lambda from the wire: `.`, `.rdb`.
std::string SpaceOf(const Value& lambda);

}  // namespace tickstack::query
