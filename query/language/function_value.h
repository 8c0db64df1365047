#pragma once

// Functions as values of type Value, which hold the bytes of the function on the wire. So a
// function can be an item of a list, the result of a query, and part of a later request. The first
// byte is the type:
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
//   69  composition  count, functions; the function that is applied last comes first
//   6a..6f derived   by ' / \ ': /: \: of the value that follows
//
// The vendor's documentation does not have these numbers. Their order is that of public decoders,
// which agree except that one of them omits `2::`.

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/language/function.h"
#include "table/function_text.h"
#include "table/value.h"

namespace tickstack::query {

// Returns a function as a value. Errors: `limit`, and those of copying the arguments of a
// projection.
absl::StatusOr<Value> ValueOf(const Function& function, Budget& budget);

// Returns the function that a value represents. `value` must be a function (types 100 to 111) other
// than the generic null. The source of a lambda is parsed, and charged. Errors: `nyi` for a
// primitive outside of the subset, `type` for a part that is no function, and those of the parser.
absl::StatusOr<Function> FunctionOf(const Value& value, Budget& budget);

// Returns the function of a source text: a lambda, or the name of a built-in or of a function of
// the process. A lambda belongs to the namespace `space`.
absl::StatusOr<Function> FunctionFromSource(std::string_view source, Budget& budget,
                                            std::string_view space = ".");

// The value of a missing argument, as in f[1;].
Value MissingArgument();
bool IsMissingArgument(const Value& value);
// The value of an iterator that is not applied to a function.
Value IteratorValue(Iterator iterator);
std::optional<Iterator> IteratorOf(const Value& value);

// Returns the unary form of an operator, which is written with a colon, such as #: for #; nullopt
// if there is none. In a parse tree, the unary form with two arguments stands for an assignment
// through the operator, such as a#:1.
std::optional<Value> UnaryFormOf(std::string_view op);
// Returns the operator of a unary form; nullptr if the value is not a unary form.
const Builtin* OperatorOfUnaryForm(const Value& value);

// Returns the namespace of a lambda's value, such as `.` or `.rdb`.
std::string SpaceOf(const Value& lambda);

}  // namespace tickstack::query
