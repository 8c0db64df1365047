#include "query/kernels/text_patterns.h"

#include <algorithm>

#include "query/columns/errors.h"

namespace tickstack::query {
namespace {

// One element of a pattern: how many characters of the pattern it has, and whether it matches `c`.
struct PatternItem {
  size_t length;
  bool matches;
};

PatternItem MatchOne(std::string_view pattern, char c) {
  if (pattern[0] == '?') return {1, true};
  if (pattern[0] != '[') return {1, pattern[0] == c};
  const bool negated = pattern.size() > 1 && pattern[1] == '^';
  size_t at = negated ? 2 : 1;
  const size_t first = at;
  bool found = false;
  for (; at < pattern.size() && (pattern[at] != ']' || at == first); ++at) {
    if (at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']') {
      found = found || (pattern[at] <= c && c <= pattern[at + 2]);
      at += 2;
    } else {
      found = found || pattern[at] == c;
    }
  }
  return {std::min(at + 1, pattern.size()), found != negated};
}

// Checks the time after each kStepsBetweenChecks compared characters.
absl::Status CountSteps(size_t& steps, size_t more, const Budget& budget) {
  constexpr size_t kStepsBetweenChecks = size_t{1} << 16;
  if ((steps += more) < kStepsBetweenChecks) return absl::OkStatus();
  steps = 0;
  return budget.CheckTime();
}

// Charges by doubling, as the vector grows.
absl::Status AddBegin(ScratchVector<size_t>& begins, size_t begin, Budget& budget) {
  if (begins.size() == begins.capacity()) {
    const size_t more = std::max<size_t>(begins.size(), 8);
    TS_RETURN_IF_ERROR(budget.Charge(more, 2 * sizeof(size_t)));
    begins.reserve(begins.size() + more);
  }
  begins.push_back(begin);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> PatternMatcher::Matches(std::string_view text) {
  size_t at = 0, p = 0;
  // Where to go on when the last star matches one character more.
  size_t star = std::string_view::npos, star_at = 0;
  while (at < text.size()) {
    if (p < pattern_.size() && pattern_[p] == '*') {
      star = ++p;
      star_at = at;
      continue;
    }
    const PatternItem item =
        p < pattern_.size() ? MatchOne(pattern_.substr(p), text[at]) : PatternItem{1, false};
    TS_RETURN_IF_ERROR(CountSteps(steps_, item.length, budget_));
    if (item.matches) {
      p += item.length;
      ++at;
    } else if (star != std::string_view::npos) {
      p = star;
      at = ++star_at;
    } else {
      return false;
    }
  }
  while (p < pattern_.size() && pattern_[p] == '*') ++p;
  return p == pattern_.size();
}

absl::StatusOr<Matches> FindMatches(std::string_view text, std::string_view pattern,
                                    Budget& budget) {
  if (pattern.empty()) return LengthError("an empty pattern");
  Matches matches;
  for (size_t p = 0; p < pattern.size(); p += MatchOne(pattern.substr(p), '\0').length) {
    if (pattern[p] == '*') return NyiError("* in a pattern of ss");
    ++matches.length;
  }
  size_t steps = 0;  // Compared characters of the pattern.
  for (size_t begin = 0; begin + matches.length <= text.size();) {
    size_t p = 0, at = begin;
    while (p < pattern.size()) {
      const PatternItem item = MatchOne(pattern.substr(p), text[at]);
      TS_RETURN_IF_ERROR(CountSteps(steps, item.length, budget));
      if (!item.matches) break;
      p += item.length;
      ++at;
    }
    if (p < pattern.size()) {
      ++begin;
      continue;
    }
    TS_RETURN_IF_ERROR(AddBegin(matches.begins, begin, budget));
    begin = at;
  }
  return matches;
}

}  // namespace tickstack::query
