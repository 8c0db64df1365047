#pragma once

// The metrics of a process. Each kind of process has a table of Metric, from which the text of
// /metrics and the page docs/metrics.md are made.
//
// The values come from the answers of the process's own statistics functions, such as `.u.stats[]`
// of a tickerplant, so that both always agree. A Metric names the function (`source`) and the part
// of its answer:
//
//   answer       part of the answer               samples
//   dictionary   the number at `key`              one
//   dictionary   the symbol at `key`              one with value 1 and the symbol as label
//   dictionary   the dictionary at `key`          one for each of its keys, as label
//   dictionary   all entries, if `key` is empty   one for each key, as label
//   table        the column `key`                 one for each row; labels from the column `label`

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/duration_buckets.h"
#include "table/value.h"

namespace tickstack::serve {

enum class MetricType : uint8_t { kCounter, kGauge, kHistogram };
std::string_view NameOf(MetricType type);

struct Metric {
  std::string_view name;  // Without the prefix, which is `tickstack_ROLE_`.
  MetricType type;
  std::string_view unit;  // Unit of the exported value: seconds, bytes, rows.
  std::string_view help;  // One sentence, understood without those of other metrics.
  // Name of the statistics function; for a histogram, the source of its Durations.
  std::string_view source;
  std::string_view key = {};    // Part of the answer; see above.
  std::string_view label = {};  // Name of the label; empty: one sample without a label.
  double scale = 1;             // Exported units per unit of the answer: 1e-3 for ms.
};

struct NamedNumber {
  std::string name;
  double number;
};

// What a process knows about itself at one moment.
struct StatusFacts {
  struct Answer {
    std::string_view source;  // A literal, such as `.u.stats`.
    Value value;
  };
  struct Durations {
    std::string_view source;
    std::string label;  // Value of the metric's label, if it has one.
    DurationBuckets::Counts counts;
  };
  std::vector<Answer> answers;
  std::vector<Durations> durations;

  // Returns the answer of a function; nullptr if it is not among the facts.
  const Value* Find(std::string_view source) const;
  // Returns an entry of a dictionary; nullopt if it is missing, null, or no number.
  std::optional<double> Number(std::string_view source, std::string_view key) const;
  // Like Number, but returns 0 if there is no number.
  double NumberOr0(std::string_view source, std::string_view key) const {
    return Number(source, key).value_or(0);
  }
  // Returns the entries of a dictionary within a dictionary; none if it is missing.
  std::vector<NamedNumber> Numbers(std::string_view source, std::string_view key) const;
  // Returns an entry of a dictionary that is a text or a symbol; empty if there is none.
  std::string Text(std::string_view source, std::string_view key) const;
};

// Returns the entries of a dictionary from symbols to numbers, without those that are null.
std::vector<NamedNumber> NumbersIn(const Value& dictionary);
// Returns the numbers in the column `key` of a table, with the names in its column `label`.
std::vector<NamedNumber> NumbersIn(const Value& table, std::string_view label,
                                   std::string_view key);

// Samples of one metric beyond this number are not exported.
inline constexpr size_t kSamplesMax = 1000;

// Appends HELP, TYPE and the samples of each metric. A metric whose value is missing or null is
// left out, and so is a second sample with the same label. Threads: any.
void AppendMetrics(std::span<const Metric> metrics, std::string_view prefix,
                   const StatusFacts& facts, std::string& text);

// Returns a table in Markdown with a row for each metric.
std::string MarkdownTable(std::span<const Metric> metrics, std::string_view prefix);

}  // namespace tickstack::serve
