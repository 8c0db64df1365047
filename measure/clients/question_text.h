#pragma once

// The text of a question: a query with its symbol and times filled in.

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "measure/clients/query_set.h"
#include "table/value.h"

namespace tickstack::measure {

// True for a symbol that can follow a backtick in a query without changing the query.
bool IsPlainSymbol(std::string_view text);

// The symbols that clients ask for, and how often. Threads: const after construction.
class SymbolActivity {
 public:
  struct Entry {
    std::string symbol;
    double weight;
  };
  SymbolActivity() = default;
  // Drops entries without a plain symbol or a positive weight.
  explicit SymbolActivity(std::vector<Entry> entries);

  bool empty() const { return symbols_.empty(); }
  size_t size() const { return symbols_.size(); }
  const std::string& InTurn(uint64_t number) const { return symbols_[number % symbols_.size()]; }
  // Returns the symbol at this share of the total activity, from 0 up to 1: with a random share,
  // symbols are drawn by activity. Cost: a binary search.
  const std::string& ByActivity(double share) const;

 private:
  std::vector<std::string> symbols_;  // The busiest first.
  std::vector<double> up_to_;         // Cumulative weights.
};

// Loads a file with a line `SYMBOL,WEIGHT` for each symbol; the default weight is 1. kNotFound if
// there is no file; kInvalidArgument, with the line, if a line is wrong; kResourceExhausted if the
// file has more than 16 MiB.
absl::StatusOr<SymbolActivity> LoadSymbols(const std::string& path);
absl::StatusOr<SymbolActivity> ParseSymbols(std::string_view text, std::string_view file_name);

// Reads symbols and weights from an rdb's answer to kSymbolsQuery; the result is empty if the
// answer has another form.
inline constexpr std::string_view kSymbolsQuery = "select n:count i by sym from trade";
SymbolActivity SymbolsOf(const Value& answer);

// Selects the next question of a class of clients, and makes its text. The same seed gives the same
// questions in the same order, independent of time. Threads: one owner.
class QuestionTexts {
 public:
  // `set` and `symbols` must outlive this object.
  QuestionTexts(const QuerySet& set, size_t client, const SymbolActivity& symbols);

  // Returns the index of the next question in the client's queries.
  size_t Next();
  // Returns the text of that question; `now_ns` replaces {end}. Needs symbols if the question asks
  // for one.
  std::string Text(size_t place, int64_t now_ns);

  void Restart();

 private:
  const QuerySet& set_;
  const ClientSpec& client_;
  const SymbolActivity& symbols_;
  const uint64_t seed_;
  std::vector<double> up_to_;  // Cumulative weights; empty: in turn.
  // Separate generators for the query and the symbol, so that neither affects the other.
  std::mt19937_64 choices_, draws_;
  uint64_t number_ = 0;
  std::vector<uint64_t> turns_;  // For each query of the client: index of the next symbol.
};

}  // namespace tickstack::measure
