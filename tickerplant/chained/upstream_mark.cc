#include "tickerplant/chained/upstream_mark.h"

#include <algorithm>
#include <charconv>

#include "base/byte_buffer.h"
#include "base/file.h"
#include "base/status.h"
#include "tickerplant/mark_file.h"

namespace tickstack::tickerplant {
namespace {

constexpr std::string_view kHead = "tickstack upstream mark 1";
constexpr uint64_t kBytesMax = uint64_t{1} << 20;

std::string_view TakeUpTo(char end, std::string_view& text) {
  const size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

template <typename Number>
bool ParseNumber(std::string_view word, Number* out, int base = 10) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *out, base);
  return error == std::errc() && end == word.data() + word.size();
}

std::string TextOf(const UpstreamMark& mark) {
  std::string text = fmt::format("{}\nname {}\nseq {}\nfirst {:08x}\ncuts {}\n", kHead, mark.name,
                                 mark.seq, mark.first_crc, mark.cuts);
  if (mark.last_crc) text += fmt::format("last {:08x}\n", *mark.last_crc);
  for (const auto& [table, rows] : mark.rows) text += fmt::format("rows {} {}\n", rows, table);
  return text + ChecksumLine(text);
}

// Parses a line; false if it is invalid.
bool TakeLine(std::string_view line, UpstreamMark& mark) {
  const std::string_view key = TakeUpTo(' ', line);
  if (key == "name") {
    mark.name = line;
    return true;
  }
  if (key == "seq") return ParseNumber(line, &mark.seq);
  if (key == "first") return ParseNumber(line, &mark.first_crc, 16);
  if (key == "last") return ParseNumber(line, &mark.last_crc.emplace(), 16);
  if (key == "cuts") return ParseNumber(line, &mark.cuts);
  if (key != "rows") return false;
  const std::string_view number = TakeUpTo(' ', line);
  uint64_t rows = 0;
  if (!ParseNumber(number, &rows) || line.empty()) return false;
  mark.rows[std::string(line)] = rows;
  return true;
}

}  // namespace

std::string UpstreamMarkPath(std::string_view log_path) {
  return std::string(log_path) + ".upstream";
}

absl::StatusOr<std::optional<UpstreamMark>> ReadUpstreamMark(const std::string& log_path) {
  const std::string path = UpstreamMarkPath(log_path);
  const absl::StatusOr<ByteBuffer> content = ReadWholeFile(path, kBytesMax);
  if (absl::IsNotFound(content.status())) return std::nullopt;
  TS_RETURN_IF_ERROR(content.status());
  const std::string_view all = AsText(content->span());
  const size_t end = all.rfind("crc32c ");
  if (end == std::string_view::npos || all.substr(end) != ChecksumLine(all.substr(0, end))) {
    return DataLoss("{}: the checksum does not match", path);
  }
  std::string_view text = all.substr(0, end);
  if (TakeUpTo('\n', text) != kHead) return DataLoss("{}: line 1: expected \"{}\"", path, kHead);
  UpstreamMark mark;
  for (int line = 2; !text.empty(); ++line) {
    if (!TakeLine(TakeUpTo('\n', text), mark)) {
      return DataLoss("{}: line {}: expected name, seq, first, last, cuts or rows with its value",
                      path, line);
    }
  }
  return mark;
}

absl::Status WriteUpstreamMark(const std::string& log_path, const UpstreamMark& mark) {
  return ReplaceMarkFile(UpstreamMarkPath(log_path), TextOf(mark));
}

}  // namespace tickstack::tickerplant
