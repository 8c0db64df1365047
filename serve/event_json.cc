#include "serve/event_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "table/format_value.h"

namespace tickstack::serve {

std::string JsonText(std::string_view text) { return FormatJson(Value::String(text)); }

std::string FactsJson(const StatusFacts& facts) {
  std::string json = "\"facts\":{";
  std::string_view comma;
  for (const StatusFacts::Answer& answer : facts.answers) {
    json += fmt::format("{}{}:{}", comma, JsonText(answer.source), FormatJson(answer.value));
    comma = ",";
  }
  json += "},\"durations\":[";
  comma = "";
  for (const StatusFacts::Durations& each : facts.durations) {
    json += fmt::format("{}{{\"source\":{},\"label\":{},\"counts\":[{}],\"sum_ns\":{}}}", comma,
                        JsonText(each.source), JsonText(each.label),
                        fmt::join(each.counts.of_bucket, ","), each.counts.sum_ns);
    comma = ",";
  }
  return json + "]";
}

}  // namespace tickstack::serve
