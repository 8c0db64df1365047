#pragma once

// The metrics of a process: a table of what it exports, and their text in Prometheus' format. What
// /metrics serves and docs/metrics.md lists both follow from the tables.
//
// A metric is derived from what the process's own statistics functions answer, such as
// `.u.stats[]` of a tickerplant, so that both always agree. A row names the function and the entry
// of its answer:
//
//   answer          value                              samples
//   a dictionary    its entry `key`, a number          one
//   the same        its entry `key`, a symbol          one: 1, labelled with it
//   the same        its entry `key`, a dictionary      one by its keys
//   the same        all its entries, if `key` is ""    one by its keys
//   a table         its column `key`                   one by its column `label`

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
  std::string_view unit;    // Unit of the exported value: seconds, bytes, rows.
  std::string_view help;    // One sentence.
  std::string_view source;  // The function, or the name of the durations.
  std::string_view key = {};
  std::string_view label = {};  // Empty: one sample without a label.
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

  // nullptr if there is no such answer.
  const Value* Find(std::string_view source) const;
  // Returns an entry of a dictionary; nullopt if it is missing, null, or no number.
  std::optional<double> Number(std::string_view source, std::string_view key) const;
  // The same, 0 if there is no number.
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
// Returns the column `key` of a table, by its column of symbols `label`.
std::vector<NamedNumber> NumbersIn(const Value& table, std::string_view label,
                                   std::string_view key);

// Samples of one metric beyond this number are not exported.
inline constexpr size_t kSamplesMax = 1000;

// Appends HELP, TYPE and the samples of each metric. A metric whose value is missing or null is
// left out, and so is a second sample with the same label. Threads: any.
void AppendMetrics(std::span<const Metric> metrics, std::string_view prefix,
                   const StatusFacts& facts, std::string& text);

// Returns a list of the metrics as a table in Markdown.
std::string MarkdownTable(std::span<const Metric> metrics, std::string_view prefix);

}  // namespace tickstack::serve
