#pragma once

// The text of a question: a query with its symbol and times filled in.

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "monitor/query_set.h"
#include "table/value.h"

namespace tickstack::monitor {

// What may stand behind a backtick in a query: another text would be another query.
bool IsPlainSymbol(std::string_view text);

// The symbols that clients ask for, and how often each. Threads: const after construction.
class SymbolActivity {
 public:
  struct Entry {
    std::string symbol;
    double weight;
  };
  SymbolActivity() = default;
  // What is no plain symbol, or has no positive weight, is left out.
  explicit SymbolActivity(std::vector<Entry> entries);

  bool empty() const { return symbols_.empty(); }
  size_t size() const { return symbols_.size(); }
  const std::string& InTurn(uint64_t number) const { return symbols_[number % symbols_.size()]; }
  // `share`: 0 up to 1, of all activity. Cost: a binary search.
  const std::string& ByActivity(double share) const;

 private:
  std::vector<std::string> symbols_;  // The busiest first.
  std::vector<double> up_to_;         // Sums of their weights.
};

// A file with `SYMBOL,WEIGHT` in each line; without a weight: 1. kNotFound; kInvalidArgument with
// the line; kResourceExhausted beyond 16 MiB.
absl::StatusOr<SymbolActivity> LoadSymbols(const std::string& path);
absl::StatusOr<SymbolActivity> ParseSymbols(std::string_view text, std::string_view file_name);

// The same of an rdb: what it answers to kSymbolsQuery; empty if that is something else.
inline constexpr std::string_view kSymbolsQuery = "select n:count i by sym from trade";
SymbolActivity SymbolsOf(const Value& answer);

// Which question is the next one of a class of clients, and its text. The same seed gives the same
// questions in the same order, whoever asks them when. Threads: one owner.
class QuestionTexts {
 public:
  // Both outlive this.
  QuestionTexts(const QuerySet& set, size_t client, const SymbolActivity& symbols);

  // Returns the index of the next question in the client's queries.
  size_t Next();
  // Returns the text of that question; `now_ns` is {end}. Requires symbols if it asks for one.
  std::string Text(size_t place, int64_t now_ns);

  void BeginAnew();

 private:
  const QuerySet& set_;
  const ClientSpec& client_;
  const SymbolActivity& symbols_;
  const uint64_t seed_;
  std::vector<double> up_to_;  // Sums of the weights; empty: in turn.
  // Which query, and which symbol: the first does not hang on what the second took.
  std::mt19937_64 choices_, draws_;
  uint64_t number_ = 0;
  std::vector<uint64_t> turns_;  // By place: which symbol is next.
};

}  // namespace tickstack::monitor
