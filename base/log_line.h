#pragma once

// A log line as a JSON object, for programs that collect logs:
//
//   LogInfo("subscribed host={} seq={}", "tp:5010", 48211)
//   {"time":"2020-03-09T14:30:00.123456789Z","level":"info","process":"rdb1",
//    "event":"subscribed","host":"tp:5010","seq":48211}
//
// The line is made from the format string and its arguments, not from the finished text, so that a
// value from outside never becomes a field of its own. A word of the format string that begins with
// `name=` is a field; the other words are the event.
//
//   in the format string        JSON
//   seq={} ms={:.1f}            a number or a boolean, if the argument is one; else a string
//   reason="{}" at="{}:{}"      a string without the quotes
//   path={}: see the log        the string ends before the punctuation, which the event gets
//
// A field that has the name of an earlier one gets `_` at its end. Bytes that are not UTF-8 become
// U+FFFD.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tickstack {

// What every line has.
struct LogLineHead {
  int64_t time_ns;  // Since 1970, UTC.
  std::string_view level;
  std::string_view process;
};

// Returns the object without a newline. `format` must fit `args`, as with fmt::vformat.
std::string JsonLogLine(const LogLineHead& head, std::string_view format, fmt::format_args args);

// Returns the event and the fields of a line that JsonLogLine made, as words: `subscribed
// host=tp:5010 seq=48211`. Empty if the line has another level or is no such line.
std::string WordsOfJsonLogLine(std::string_view line, std::string_view level);

}  // namespace tickstack
