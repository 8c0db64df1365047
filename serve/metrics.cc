#include "serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/string_map.h"
#include "table/utf8.h"

namespace tickstack::serve {
namespace {

std::optional<double> LongNumber(int64_t number) {
  if (number == kNullLong) return std::nullopt;
  if (number == kInfinityLong) return INFINITY;
  return static_cast<double>(number);
}

// Returns item i of a vector of numbers, or of a list of atoms; nullopt for nulls and other types.
std::optional<double> NumberAt(const Value& items, size_t i) {
  if (items.is_list()) {
    const Value& item = items.items()[i];
    return item.is_atom() ? NumberAt(item, 0) : std::nullopt;
  }
  if (!items.is_vector() && !items.is_atom()) return std::nullopt;
  switch (items.type()) {
    case Type::kBoolean:
      return items.span<uint8_t>()[i] != 0 ? 1 : 0;
    case Type::kInt:
      return static_cast<double>(items.span<int32_t>()[i]);
    case Type::kLong:
      return LongNumber(items.span<int64_t>()[i]);
    case Type::kFloat: {
      const double number = items.span<double>()[i];
      return std::isnan(number) ? std::nullopt : std::optional(number);
    }
    case Type::kList:
    case Type::kGuid:
    case Type::kByte:
    case Type::kShort:
    case Type::kReal:
    case Type::kChar:
    case Type::kSymbol:
    case Type::kTimestamp:
    case Type::kMonth:
    case Type::kDate:
    case Type::kDatetime:
    case Type::kTimespan:
    case Type::kMinute:
    case Type::kSecond:
    case Type::kTime:
    case Type::kTable:
    case Type::kDict:
    case Type::kLambda:
    case Type::kUnary:
    case Type::kOperator:
    case Type::kIterator:
    case Type::kProjection:
    case Type::kComposition:
    case Type::kSortedDict:
    case Type::kError:
      break;
  }
  return std::nullopt;
}

bool HasNames(const Value& dictionary) {
  return dictionary.is_dict() && dictionary.keys().is(Type::kSymbol) &&
         dictionary.values().count() == dictionary.keys().count();
}

std::optional<size_t> IndexOf(const Value& dictionary, std::string_view key) {
  const SymbolVector& names = dictionary.keys().symbols();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == key) return i;
  }
  return std::nullopt;
}

// Returns an entry that is no plain number: a text, a symbol or a dictionary.
const Value* EntryOf(const Value& dictionary, std::string_view key) {
  if (!HasNames(dictionary) || !dictionary.values().is_list()) return nullptr;
  const std::optional<size_t> at = IndexOf(dictionary, key);
  return at ? &dictionary.values().items()[*at] : nullptr;
}

// Escapes a label's value; bytes that are not UTF-8 would make the whole scrape invalid.
std::string LabelText(std::string_view value) {
  std::string valid, escaped;
  AppendUtf8(valid, value);
  for (const char c : valid) {
    if (c == '\n') {
      escaped += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string NumberText(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "+Inf" : "-Inf";
  constexpr double kExact = 9007199254740992;  // 2^53.
  if (number == std::floor(number) && std::abs(number) < kExact) {
    return fmt::format("{}", static_cast<int64_t>(number));
  }
  return fmt::format("{}", number);
}

// Writes the samples of one metric, and HELP and TYPE before the first.
class Family {
 public:
  Family(const Metric& metric, std::string_view prefix, std::string& text)
      : metric_(metric), name_(fmt::format("{}{}", prefix, metric.name)), text_(text) {}

  void Add(std::string_view label, double number) {
    const std::string labels = LabelsOf(label);
    if (!Begin(labels)) return;
    Sample("", labels, number);
  }

  void AddDurations(std::string_view label, const DurationBuckets::Counts& counts) {
    const std::string labels = LabelsOf(label);
    if (!Begin(labels)) return;
    const std::string_view comma = labels.empty() ? "" : ",";
    uint64_t sum = 0;
    for (size_t i = 0; i < counts.of_bucket.size(); ++i) {
      sum += counts.of_bucket[i];
      const double upper = i < DurationBuckets::kBounded
                               ? static_cast<double>(DurationBuckets::UpperNs(i)) / 1e9
                               : INFINITY;
      Sample("_bucket", fmt::format("{}{}le=\"{}\"", labels, comma, NumberText(upper)),
             static_cast<double>(sum));
    }
    Sample("_sum", labels, static_cast<double>(counts.sum_ns) / 1e9);
    Sample("_count", labels, static_cast<double>(sum));
  }

 private:
  std::string LabelsOf(std::string_view label) const {
    if (metric_.label.empty()) return "";
    return fmt::format("{}=\"{}\"", metric_.label, LabelText(label));
  }

  // False if the sample must not be written.
  bool Begin(const std::string& labels) {
    if (written_.size() >= kSamplesMax || !written_.insert(labels).second) return false;
    if (written_.size() > 1) return true;
    fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name_, metric_.help,
                   name_, NameOf(metric_.type));
    return true;
  }

  void Sample(std::string_view suffix, std::string_view labels, double number) {
    const bool any = !labels.empty();
    fmt::format_to(std::back_inserter(text_), "{}{}{}{}{} {}\n", name_, suffix, any ? "{" : "",
                   labels, any ? "}" : "", NumberText(number));
  }

  const Metric& metric_;
  const std::string name_;
  std::string& text_;
  StringSet written_;
};

void AddAll(const std::vector<NamedNumber>& numbers, double scale, Family& family) {
  for (const NamedNumber& each : numbers) family.Add(each.name, each.number * scale);
}

void AddAnswer(const Metric& metric, const Value& answer, const StatusFacts& facts,
               Family& family) {
  if (answer.is_table()) {
    return AddAll(NumbersIn(answer, metric.label, metric.key), metric.scale, family);
  }
  if (metric.key.empty()) return AddAll(NumbersIn(answer), metric.scale, family);
  if (metric.label.empty()) {
    const std::optional<double> number = facts.Number(metric.source, metric.key);
    if (number) family.Add("", *number * metric.scale);
    return;
  }
  const Value* const entry = EntryOf(answer, metric.key);
  if (entry == nullptr) return;
  if (entry->is_atom_of(Type::kSymbol)) return family.Add(entry->symbol(), 1);
  AddAll(NumbersIn(*entry), metric.scale, family);
}

}  // namespace

std::string_view NameOf(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "";
}

const Value* StatusFacts::Find(std::string_view source) const {
  const auto found = std::ranges::find(answers, source, &Answer::source);
  return found == answers.end() ? nullptr : &found->value;
}

std::optional<double> StatusFacts::Number(std::string_view source, std::string_view key) const {
  const Value* const answer = Find(source);
  if (answer == nullptr || !HasNames(*answer)) return std::nullopt;
  const std::optional<size_t> at = IndexOf(*answer, key);
  return at ? NumberAt(answer->values(), *at) : std::nullopt;
}

std::vector<NamedNumber> StatusFacts::Numbers(std::string_view source, std::string_view key) const {
  const Value* const answer = Find(source);
  const Value* const entry = answer == nullptr ? nullptr : EntryOf(*answer, key);
  return entry == nullptr ? std::vector<NamedNumber>() : NumbersIn(*entry);
}

std::string StatusFacts::Text(std::string_view source, std::string_view key) const {
  const Value* const answer = Find(source);
  const Value* const entry = answer == nullptr ? nullptr : EntryOf(*answer, key);
  const bool is_text = entry != nullptr && (entry->is_string() || entry->is_atom_of(Type::kSymbol));
  return is_text ? std::string(entry->text()) : "";
}

std::vector<NamedNumber> NumbersIn(const Value& dictionary) {
  std::vector<NamedNumber> numbers;
  if (!HasNames(dictionary)) return numbers;
  const SymbolVector& names = dictionary.keys().symbols();
  for (size_t i = 0; i < names.size(); ++i) {
    if (const std::optional<double> number = NumberAt(dictionary.values(), i)) {
      numbers.push_back({std::string(names[i]), *number});
    }
  }
  return numbers;
}

std::vector<NamedNumber> NumbersIn(const Value& table, std::string_view label,
                                   std::string_view key) {
  std::vector<NamedNumber> numbers;
  const Value* const names = table.FindColumn(label);
  const Value* const column = table.FindColumn(key);
  if (names == nullptr || column == nullptr || !names->is(Type::kSymbol)) return numbers;
  for (size_t i = 0; i < names->count() && i < column->count(); ++i) {
    if (const std::optional<double> number = NumberAt(*column, i)) {
      numbers.push_back({std::string(names->symbols()[i]), *number});
    }
  }
  return numbers;
}

void AppendMetrics(std::span<const Metric> metrics, std::string_view prefix,
                   const StatusFacts& facts, std::string& text) {
  for (const Metric& metric : metrics) {
    Family family(metric, prefix, text);
    if (metric.type == MetricType::kHistogram) {
      for (const StatusFacts::Durations& each : facts.durations) {
        if (each.source == metric.source) family.AddDurations(each.label, each.counts);
      }
    } else if (const Value* const answer = facts.Find(metric.source)) {
      AddAnswer(metric, *answer, facts, family);
    }
  }
}

std::string MarkdownTable(std::span<const Metric> metrics, std::string_view prefix) {
  std::string text =
      "| metric | type | unit | meaning | source |\n| --- | --- | --- | --- | --- |\n";
  for (const Metric& metric : metrics) {
    const std::string label = metric.label.empty() ? "" : fmt::format("{{{}}}", metric.label);
    const std::string key = metric.key.empty() ? "" : fmt::format(" `{}`", metric.key);
    const std::string source =
        metric.source.starts_with('.') ? fmt::format("`{}[]`{}", metric.source, key) : "";
    fmt::format_to(std::back_inserter(text), "| `{}{}{}` | {} | {} | {} | {} |\n", prefix,
                   metric.name, label, NameOf(metric.type), metric.unit, metric.help, source);
  }
  return text;
}

}  // namespace tickstack::serve
