#pragma once

// Patterns of `like`, `ss` and `ssr`: ? is any character, [a-z] and [^x] are sets of characters
// and, for `like` only, * is any number of characters.

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"

namespace tickstack::query {

// Matches a pattern with whole texts. The pattern and the budget must outlive it.
//
// Cost: at most O(text * pattern) per text, without recursion. Checks the time once per 65,536
//       examined characters of the pattern, counted over all texts.
class PatternMatcher {
 public:
  PatternMatcher(std::string_view pattern, const Budget& budget)
      : pattern_(pattern), budget_(budget) {}

  // True if the pattern matches the whole text. Errors: `stop`.
  absl::StatusOr<bool> Matches(std::string_view text);

 private:
  const std::string_view pattern_;
  const Budget& budget_;
  size_t steps_ = 0;  // Characters of the pattern examined since the last check of the time.
};

// The matches of a pattern in a text.
struct Matches {
  size_t length = 0;             // Length of each match.
  ScratchVector<size_t> begins;  // Position of each match in the text, ascending.
};

// Finds the matches of a pattern in a text, from the left. Matches do not overlap.
//
// Cost:   at most O(text * pattern).
// Errors: `length` for an empty pattern, `nyi` for a pattern with *, `stop`, `limit`.
absl::StatusOr<Matches> FindMatches(std::string_view text, std::string_view pattern,
                                    Budget& budget);

}  // namespace tickstack::query
