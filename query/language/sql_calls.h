#pragma once

// Calls of functions as SQL writes them, with the arguments between round brackets. In q these
// make a list, of which a function of one argument is applied: `max(price)` is q, too.

#include <cstddef>

#include "query/language/sql_signs.h"
#include "query/language/sql_tokens.h"

namespace tickstack::query {

// True for a name and round brackets, without code that only q has between them: `max(price)`.
bool IsCall(SqlTokens tokens, size_t i);

// True for a call on which q failed because it is one of SQL:
//
//   round(price,2), date(time)   of a function that databases have and q has not
//   mod(size,3)                  of a function that q writes between its arguments
//   f(size,3)                    with several arguments, of a function without a value
//   max(sym)                     of an aggregate of text: q's functions are of numbers
bool IsCallOfSql(SqlTokens tokens, size_t i, const FailureOfQ& failure);

}  // namespace tickstack::query
