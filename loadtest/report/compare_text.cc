#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "loadtest/report/compare.h"
#include "loadtest/report/text.h"

namespace tickstack::loadtest::report {
namespace {

using Json = nlohmann::ordered_json;

// Escapes text for a terminal: whatever SafeHtml replaces would be harmful here as well.
std::string Plain(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out;
}

std::string ValueText(const FigureComparison& figure, std::optional<double> value) {
  if (figure.statistic.ends_with("_ms")) return DurationText(value);
  return figure.statistic == "bytes" ? BytesText(value) : CountText(value);
}

std::string PercentText(std::optional<double> part, const char* none) {
  if (!part) return none;
  return std::abs(*part) >= 10 ? fmt::format("{:+.0f} %", 100 * *part)
                               : fmt::format("{:+.1f} %", 100 * *part);
}

std::string_view VerdictText(Verdict verdict, bool is_time) {
  switch (verdict) {
    case Verdict::kSame:
      return "no difference";
    case Verdict::kMore:
      return is_time ? "SLOWER" : "MORE";
    case Verdict::kLess:
      return is_time ? "FASTER" : "LESS";
    case Verdict::kNotJudged:
      break;
  }
  return "not judged";
}

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame:
      return "same";
    case Verdict::kMore:
      return "more";
    case Verdict::kLess:
      return "less";
    case Verdict::kNotJudged:
      break;
  }
  return "not_judged";
}

// Returns the changes that can be chance, such as `-9.1 to +10.0 %`. They are as far apart in
// logarithms: 1 / 1.1 is 9.1 % less.
std::string CoveredText(const FigureComparison& figure) {
  if (!figure.spread) return "";
  const double most = std::max(*figure.spread, kLeastChange);
  const std::string from = PercentText(LeastCovered(most), ""), to = PercentText(most, "");
  return from.substr(0, from.size() - 2) + " to " + to;
}

Json OrNull(std::optional<double> value) { return value ? Json(*value) : Json(); }

std::string StackText(const StackComparison& stack) {
  std::string text =
      fmt::format("\n{:g}/{:g} {}{}{}: {} against {}\n", stack.batch_ms, stack.query_ms,
                  Plain(stack.placement), stack.simulated ? " (SIMULATED)" : "",
                  stack.rdbs > 1 ? fmt::format(", {} RDBs", stack.rdbs) : "",
                  Plural(static_cast<int64_t>(stack.stacks_a), "stack"),
                  Plural(static_cast<int64_t>(stack.stacks_b), "stack"));
  text += fmt::format("  {:<26}{:>12}{:>12}{:>10}{:>18}  {}\n", "", "first", "second", "change",
                      "covered", "verdict");
  for (const FigureComparison& figure : stack.figures) {
    if (!figure.a && !figure.b) continue;
    const bool is_time = figure.statistic.ends_with("_ms");
    text += fmt::format("  {:<26}{:>12}{:>12}{:>10}{:>18}  {}{}\n",
                        figure.quantity + " " + figure.statistic, ValueText(figure, figure.a),
                        ValueText(figure, figure.b), PercentText(figure.change, "n/a"),
                        CoveredText(figure), VerdictText(figure.verdict, is_time),
                        figure.spread ? "" : ": " + figure.basis);
  }
  return text;
}

}  // namespace

std::string ComparisonText(const Comparison& comparison) {
  std::string text;
  for (const auto& [what, run] :
       {std::pair("first ", &comparison.a), std::pair("second", &comparison.b)}) {
    text += fmt::format("{}  {}: {} of {}\n", what, Plain(run->directory), Plain(run->name),
                        Plain(run->begin));
  }
  for (const std::string& unlike : comparison.unlike) text += "not alike: " + Plain(unlike) + "\n";
  for (const std::string& one : comparison.only_in_one)
    text += "not compared: " + Plain(one) + "\n";
  for (const StackComparison& stack : comparison.stacks) text += StackText(stack);
  if (comparison.judged == 0)
    return text + "\nNo figure could be compared: each needs enough values in both runs.\n";
  return text + fmt::format(
                    "\n{} in {} that could be compared. If two runs differ by chance alone, at "
                    "most {:g} in 100 comparisons report a difference.\n",
                    Plural(static_cast<int64_t>(comparison.differences), "difference"),
                    Plural(static_cast<int64_t>(comparison.judged), "figure"),
                    100 * kFalsePositives);
}

std::string ComparisonJson(const Comparison& comparison) {
  Json stacks = Json::array();
  for (const StackComparison& stack : comparison.stacks) {
    Json figures = Json::array();
    for (const FigureComparison& figure : stack.figures) {
      figures.push_back(
          {{"quantity", figure.quantity},
           {"statistic", figure.statistic},
           {"first", OrNull(figure.a)},
           {"second", OrNull(figure.b)},
           {"change", OrNull(figure.change)},
           {"spread", OrNull(figure.spread)},
           {"spread_below", figure.spread ? Json(LeastCovered(*figure.spread)) : Json()},
           {"basis", figure.basis},
           {"verdict", VerdictName(figure.verdict)}});
    }
    stacks.push_back({{"batch_ms", stack.batch_ms},
                      {"query_ms", stack.query_ms},
                      {"placement", stack.placement},
                      {"simulated", stack.simulated},
                      {"rdbs", stack.rdbs},
                      {"stacks", {stack.stacks_a, stack.stacks_b}},
                      {"figures", std::move(figures)}});
  }
  const Json json = {{"format", 1},
                     {"first", comparison.a.directory},
                     {"second", comparison.b.directory},
                     {"false_positives", kFalsePositives},
                     {"least_change", kLeastChange},
                     {"judged", comparison.judged},
                     {"differences", comparison.differences},
                     {"not_alike", comparison.unlike},
                     {"not_compared", comparison.only_in_one},
                     {"stacks", std::move(stacks)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tickstack::loadtest::report
