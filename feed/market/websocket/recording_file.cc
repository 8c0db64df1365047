#include "feed/market/websocket/recording_file.h"

#include <filesystem>

#include "base/status.h"
#include "feed/market/text_fields.h"
#include "feed/market/websocket/exchange_times.h"
#include "feed/market/websocket/json_fields.h"

namespace tickstack::feed::market {

absl::StatusOr<std::unique_ptr<RecordingFile>> RecordingFile::Open(const std::string& path) {
  TS_ASSIGN_OR_RETURN(std::unique_ptr<LineReader> lines, LineReader::Open(path, kRecordBytesMax));
  return std::unique_ptr<RecordingFile>(new RecordingFile(std::move(lines)));
}

RecordingFile::RecordingFile(std::unique_ptr<LineReader> lines)
    : lines_(std::move(lines)), name_(std::filesystem::path(lines_->path()).filename().string()) {}

std::string RecordingFile::Place() const {
  return fmt::format("{}: byte {}: line {}", path(), line_.offset, line_.number);
}

absl::StatusOr<bool> RecordingFile::Advance() {
  while (true) {
    TS_ASSIGN_OR_RETURN(const std::optional<TextLine> line, lines_->Next());
    if (!line) return false;
    line_ = *line;
    why_.clear();
    record_ = {.kind = Record::Kind::kReceived, .recv_ns = record_.recv_ns, .connection = name_};
    if (!line->text.empty() && ParseLine(line->text)) return true;
  }
}

bool RecordingFile::NoRecord(std::string why) {
  why_ = std::move(why);
  return true;
}

bool RecordingFile::ParseLine(std::string_view line) {
  if (line[0] == '{') return ParseJsonLine(line);
  if (line[0] >= '0' && line[0] <= '9') return ParseStamped(line);
  // What cryptofeed was asked to record.
  if (line.starts_with("configuration: ")) return false;
  return ParseAddressed(line);
}

bool RecordingFile::TakeTime(std::string_view seconds) {
  const std::optional<int64_t> recv_ns = ParseUnixSeconds(seconds);
  if (!recv_ns) {
    return NoRecord(
        fmt::format("expected the seconds of its receipt, found \"{}\"", seconds.substr(0, 40)));
  }
  record_.recv_ns = *recv_ns;
  return true;
}

// `seconds: TEXT`, or `nanoseconds TEXT`.
bool RecordingFile::ParseStamped(std::string_view line) {
  const size_t blank = line.find(' ');
  if (blank == std::string_view::npos) return NoRecord("expected a text behind its time");
  record_.text = line.substr(blank + 1);
  const std::string_view stamp = line.substr(0, blank);
  if (stamp.ends_with(':')) return TakeTime(stamp.substr(0, stamp.size() - 1));
  const std::optional<int64_t> recv_ns = ParseUnixUnits(stamp, 1);
  if (!recv_ns) {
    return NoRecord(
        fmt::format("expected the nanoseconds of its receipt, found \"{}\"", stamp.substr(0, 40)));
  }
  record_.recv_ns = *recv_ns;
  return true;
}

// `ADDRESS ARROW seconds`, with `: TEXT` unless it is a connection.
bool RecordingFile::ParseAddressed(std::string_view line) {
  const size_t address_end = line.find(' ');
  const size_t arrow_end =
      address_end == std::string_view::npos ? address_end : line.find(' ', address_end + 1);
  if (arrow_end == std::string_view::npos) {
    return NoRecord("expected a time, an address or a JSON object");
  }
  record_.address = line.substr(0, address_end);
  const std::string_view arrow = line.substr(address_end + 1, arrow_end - address_end - 1);
  const std::string_view rest = line.substr(arrow_end + 1);
  if (arrow == "<-") return false;
  if (arrow == "<->") {
    record_.kind = Record::Kind::kConnected;
    return TakeTime(rest);
  }
  if (arrow != "->") return NoRecord("expected <->, <- or -> behind an address");
  record_.kind = Record::Kind::kAnswer;
  const size_t text = rest.find(": ");
  if (text == std::string_view::npos) return NoRecord("expected a text behind its time");
  record_.text = rest.substr(text + 2);
  return TakeTime(rest.substr(0, text));
}

bool RecordingFile::ParseJsonLine(std::string_view line) {
  if (std::string why = json_.Parse(line); !why.empty()) return NoRecord(std::move(why));
  const JsonValue root = json_.root();
  JsonFields fields;
  const std::string_view kind = fields.Text(root["t"]);
  if (kind == "header" || kind == "send") return false;
  record_.connection = fields.Text(root["conn"]);
  const int64_t recv_ns = fields.SecondsNs(root["ts"]);
  if (kind == "connect") {
    record_.kind = Record::Kind::kConnected;
    record_.address = root["addr"].text();
  } else if (kind == "http" || kind == "recv") {
    if (kind == "http") record_.kind = Record::Kind::kAnswer;
    record_.address = root["url"].text();
    record_.text = fields.Text(root["data"]);
  } else {
    fields.Expect("header, http, connect, send or recv", root["t"]);
  }
  if (!fields.fit()) return NoRecord(fields.why());
  record_.recv_ns = recv_ns;
  return true;
}

}  // namespace tickstack::feed::market
