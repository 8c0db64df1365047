#pragma once

// Patterns of `like`, `ss` and `ssr`: ? is any character, [a-z] and [^x] are sets of characters
// and, for `like` only, * is any number of characters.

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"

namespace tickstack::query {

// Tells whether a pattern matches a whole text, for any number of texts. The pattern and the budget
// must outlive it.
// Cost: O(text * pattern) per text, without recursion, whatever the pattern. It checks the time
//       after at most 65,536 characters of the pattern, counted over all texts.
class PatternMatcher {
 public:
  PatternMatcher(std::string_view pattern, const Budget& budget)
      : pattern_(pattern), budget_(budget) {}

  // Errors: `stop`.
  absl::StatusOr<bool> Matches(std::string_view text);

 private:
  const std::string_view pattern_;
  const Budget& budget_;
  size_t steps_ = 0;  // Characters of the pattern examined since the last check of the time.
};

// The non-overlapping matches in a text of a pattern without *, from the left.
struct Matches {
  size_t length = 0;  // Length of each match.
  ScratchVector<size_t> begins;
};

// Errors: `length` for an empty pattern, `nyi` for one with *; `stop`, since it may take
//         O(text * pattern).
absl::StatusOr<Matches> FindMatches(std::string_view text, std::string_view pattern,
                                    Budget& budget);

}  // namespace tickstack::query
