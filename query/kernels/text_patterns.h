#pragma once

// Patterns of `like`, `ss` and `ssr`: ? is any character, [a-z] and [^x] are sets of them, and for
// `like`
// * is any number of them.

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"

namespace tickstack::query {

// Whether a pattern takes all of a text.
// Cost: O(text * pattern), no recursion, whatever the pattern.
bool MatchesPattern(std::string_view text, std::string_view pattern);

// What a pattern without * takes in a text, from the left, each behind the one before.
struct Matches {
  size_t length = 0;  // Of each.
  ScratchVector<size_t> begins;
};

// Errors: `length` for an empty pattern, `nyi` for one with *; `stop`, since it may take
//         O(text * pattern).
absl::StatusOr<Matches> FindMatches(std::string_view text, std::string_view pattern,
                                    Budget& budget);

}  // namespace tickstack::query
