#include "base/log_line.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/time.h"

namespace tickstack {
namespace {

using Json = nlohmann::ordered_json;
using Arg = fmt::basic_format_arg<fmt::format_context>;

// A word of a format string, or a field: `seq={}`.
struct Word {
  std::string_view name;  // Empty: not a field.
  std::string_view text;  // The word, or the field's value without its quotes.
  std::string_view end;   // Punctuation after a field.
};

// Takes words from the front of a format string. Blanks in braces or quotes do not end one.
std::string_view TakeWord(std::string_view& rest) {
  size_t end = 0;
  int depth = 0;
  bool quoted = false;
  for (; end < rest.size() && (depth > 0 || quoted || rest[end] != ' '); ++end) {
    if (rest[end] == '{') ++depth;
    if (rest[end] == '}') --depth;
    if (rest[end] == '"') quoted = !quoted;
  }
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), end + 1));
  return word;
}

Word WordOf(std::string_view text) {
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals == std::string_view::npos ? 0 : equals);
  const auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.empty() || !std::ranges::all_of(name, in_name)) return {{}, text, {}};
  std::string_view value = text.substr(equals + 1);
  const size_t last = value.find_last_not_of(":;,.");
  const std::string_view end = value.substr(last == std::string_view::npos ? 0 : last + 1);
  value.remove_suffix(end.size());
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    return {name, value.substr(1, value.size() - 2), end};
  }
  return {name, value, end};
}

// Formats the parts of a format string one after another.
class Formatter {
 public:
  explicit Formatter(fmt::format_args args) {
    for (int i = 0; const Arg arg = args.get(i); ++i) args_.push_back(arg);
  }

  std::string Text(std::string_view part) {
    const size_t used = ArgsIn(part);
    const fmt::format_args args(args_.data() + next_, static_cast<int>(used));
    next_ += used;
    return fmt::vformat(part, args);
  }

  Json Value(const Word& field) {
    const bool one = field.text.starts_with('{') && field.text.find('}') == field.text.size() - 1;
    const bool typed = one && next_ < args_.size() && IsNumber(args_[next_]);
    std::string text = Text(field.text);
    return typed && Json::accept(text) ? Json::parse(text) : Json(std::move(text));
  }

 private:
  static bool IsNumber(const Arg& arg) {
    return fmt::visit_format_arg(
        [](const auto& value) {
          using T = std::decay_t<decltype(value)>;
          return std::is_arithmetic_v<T> && !std::is_same_v<T, char>;
        },
        arg);
  }
  // Number of arguments that a part uses. Our format strings never number them.
  static size_t ArgsIn(std::string_view part) {
    size_t args = 0;
    for (size_t i = 0; i < part.size(); ++i) {
      if (part[i] != '{') continue;
      const bool escaped = part.substr(i + 1).starts_with('{');
      if (escaped) ++i;
      if (!escaped) ++args;
    }
    return args;
  }

  std::vector<Arg> args_;
  size_t next_ = 0;
};

std::string TimeText(int64_t time_ns) {
  const std::time_t seconds = time_ns / kNsPerSecond;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z", fmt::gmtime(seconds), time_ns % kNsPerSecond);
}

}  // namespace

std::string JsonLogLine(const LogLineHead& head, std::string_view format, fmt::format_args args) {
  Json line{{"time", TimeText(head.time_ns)},
            {"level", head.level},
            {"process", head.process},
            {"event", ""}};
  Formatter formatter(args);
  std::string event;
  while (!format.empty()) {
    const Word word = WordOf(TakeWord(format));
    if (word.name.empty()) {
      if (!event.empty()) event += ' ';
      event += formatter.Text(word.text);
      continue;
    }
    std::string name(word.name);
    while (line.contains(name)) name += '_';
    line[std::move(name)] = formatter.Value(word);
    event += word.end;
  }
  line["event"] = std::move(event);
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string WordsOfJsonLogLine(std::string_view line, std::string_view level) {
  if (!line.starts_with("{\"time\":")) return {};
  const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || object.value("level", Json()) != level) return {};
  std::string words;
  for (const auto& [name, value] : object.items()) {
    if (name == "time" || name == "level" || name == "process") continue;
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    words += name == "event" ? text : fmt::format(" {}={}", name, text);
  }
  return words;
}

}  // namespace tickstack
