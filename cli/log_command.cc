#include "cli/log_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "base/byte_buffer.h"
#include "base/file.h"
#include "base/status.h"
#include "table/format_value.h"
#include "tplog/message_census.h"
#include "tplog/tplog_check.h"
#include "tplog/tplog_format.h"
#include "tplog/tplog_reader.h"
#include "tplog/tplog_repair.h"
#include "wire/codec.h"
#include "wire/upd.h"

namespace tickstack::cli {
namespace {

using Json = nlohmann::ordered_json;
using tplog::TableRows;
using tplog::TplogProblem;

int Failed(std::string_view command, const absl::Status& status) {
  std::fflush(stdout);
  fmt::print(stderr, "tickstack log {}: {}\n", command, Message(status));
  return 1;
}

// Names in a log may be any bytes; invalid UTF-8 becomes U+FFFD.
std::string Dumped(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::map<std::string, uint64_t> Sorted(const TableRows& rows) { return {rows.begin(), rows.end()}; }

Json JsonOf(const TableRows& rows) {
  Json json = Json::object();
  for (const auto& [table, count] : Sorted(rows)) json[table] = count;
  return json;
}

Json JsonOf(const std::vector<tplog::TplogRange>& ranges) {
  Json json = Json::array();
  for (const tplog::TplogRange& range : ranges) {
    json.push_back({{"offset", range.offset}, {"bytes", range.bytes}});
  }
  return json;
}

std::map<std::string, TableRows> SortedFeeds(const tplog::TplogTotals& totals) {
  return {totals.feed_rows.begin(), totals.feed_rows.end()};
}

void AddTotals(const tplog::TplogTotals& totals, Json& json) {
  json["messages"] = totals.messages;
  json["rows"] = JsonOf(totals.rows);
  Json feeds = Json::object();
  for (const auto& [feed, rows] : SortedFeeds(totals)) feeds[feed] = JsonOf(rows);
  json["feeds"] = feeds;
  json["feed_progress_known"] = totals.feed_progress_known;
}

void PrintTotals(const std::string& file, const tplog::TplogTotals& totals) {
  fmt::print("{}: {} messages, {} bytes\n", file, totals.messages, totals.log_bytes);
  for (const auto& [table, rows] : Sorted(totals.rows)) fmt::print("  {}: {} rows\n", table, rows);
  for (const auto& [feed, tables] : SortedFeeds(totals)) {
    for (const auto& [table, rows] : Sorted(tables)) {
      fmt::print("  feed {}, {}: {} rows\n", feed, table, rows);
    }
  }
}

std::string_view NameOf(TplogProblem::Kind kind) {
  switch (kind) {
    case TplogProblem::Kind::kTornLog:
      return "torn log";
    case TplogProblem::Kind::kTornIndex:
      return "torn index";
    case TplogProblem::Kind::kFlippedIndex:
      return "flipped bit of the index";
    case TplogProblem::Kind::kLogDamaged:
      return "damaged log";
    case TplogProblem::Kind::kIndexDamaged:
      return "damaged index";
  }
  return "";
}

// Finds messages that are odd among those that `log dump` read (tplog/message_census.h).
class OddFinder {
 public:
  void Add(const tplog::TplogMessage& message) {
    wire::UpdView upd;
    const bool is_upd = decoder_.Decode(message.body, &upd).ok();
    census_.Add(is_upd ? &upd : nullptr, message.body, {message.seq, message.offset});
  }
  // kDataLoss with what is odd, if anything is.
  absl::Status Check(const std::string& file) const {
    std::string text;
    TS_ASSIGN_OR_RETURN(const bool has_index, FileExists(tplog::TplogIndexPath(file)));
    for (const tplog::MessageCensus::Odd& odd : census_.FindOdd(/*of_ticks=*/!has_index)) {
      text += fmt::format("{}{} messages have {}; the first one is message {} at byte {}",
                          text.empty() ? "" : "; ", odd.messages, odd.text, odd.first.seq,
                          odd.first.offset);
    }
    if (text.empty()) return absl::OkStatus();
    return DataLoss("{}: may be damaged: {}", file, text);
  }

 private:
  wire::UpdDecoder decoder_;
  tplog::MessageCensus census_;
};

// Formats one message as a line of `log dump`.
class DumpLine {
 public:
  explicit DumpLine(const LogDumpOptions& options) : options_(options) {}

  // Returns false if it is of another table than the requested one.
  bool Read(const tplog::TplogMessage& message) {
    message_ = message;
    is_upd_ = decoder_.Decode(message.body, &upd_).ok();
    return options_.table.empty() || (is_upd_ && upd_.table == options_.table);
  }

  std::string Text() const {
    std::string line = is_upd_ ? fmt::format("{:>10} {:>14} {:>10} {:<8} {:<12} {:>10}\n",
                                             message_.seq, message_.offset, message_.body.size(),
                                             upd_.verb, upd_.table, upd_.batch.rows)
                               : fmt::format("{:>10} {:>14} {:>10} is no upd\n", message_.seq,
                                             message_.offset, message_.body.size());
    if (options_.values) line += fmt::format("           {}\n", InlineText(Values()));
    return line;
  }

  std::string JsonText() const {
    Json json = {
        {"seq", message_.seq}, {"offset", message_.offset}, {"bytes", message_.body.size()},
        {"verb", nullptr},     {"table", nullptr},          {"rows", nullptr}};
    if (is_upd_) {
      json["verb"] = std::string(upd_.verb);
      json["table"] = std::string(upd_.table);
      json["rows"] = upd_.batch.rows;
    }
    std::string text = Dumped(json);
    if (options_.values) {
      text.pop_back();
      text += fmt::format(",\"values\":{}}}", FormatJson(Values()));
    }
    return text + "\n";
  }

  static constexpr std::string_view kHead =
      "   message         offset      bytes verb     table              rows\n";

 private:
  // Returns x of an upd, or the whole message of anything else. The reader has checked that it
  // decodes.
  Value Values() const {
    absl::StatusOr<Value> value = wire::Decode(is_upd_ ? upd_.x : message_.body);
    return value.ok() ? *std::move(value) : Value();
  }

  const LogDumpOptions& options_;
  wire::UpdDecoder decoder_;
  tplog::TplogMessage message_;
  wire::UpdView upd_;
  bool is_upd_ = false;
};

absl::Status Dump(const LogDumpOptions& options) {
  TS_ASSIGN_OR_RETURN(const auto reader, tplog::TplogReader::Open(options.file));
  TS_RETURN_IF_ERROR(reader->Seek(options.from));
  DumpLine line(options);
  OddFinder odd;
  if (!options.json) fmt::print("{}", DumpLine::kHead);
  for (uint64_t printed = 0; printed < options.count;) {
    TS_ASSIGN_OR_RETURN(const std::optional<tplog::TplogMessage> message, reader->Next());
    if (!message.has_value()) break;
    if (!reader->is_proven()) odd.Add(*message);
    if (!line.Read(*message)) continue;
    const std::string text = options.json ? line.JsonText() : line.Text();
    std::fwrite(text.data(), 1, text.size(), stdout);
    ++printed;
  }
  if (reader->torn_bytes() != 0) {
    fmt::print(stderr, "{}: {} bytes of a torn message or block at the end\n", options.file,
               reader->torn_bytes());
  }
  return odd.Check(options.file);
}

Json JsonOf(const std::string& file, const tplog::TplogReport& report) {
  Json json = {{"file", file}, {"ok", report.is_sound()}};
  AddTotals(report.totals, json);
  json["log_bytes"] = report.log_bytes;
  json["torn_bytes"] = report.torn_bytes;
  json["live"] = report.live;
  json["indexed"] = report.indexed;
  json["index_bytes"] = report.index_bytes;
  json["blocks"] = report.blocks;
  json["messages_indexed"] = report.messages_indexed;
  json["problem_count"] = report.problem_count;
  Json problems = Json::array();
  for (const TplogProblem& problem : report.problems) {
    problems.push_back(
        {{"kind", NameOf(problem.kind)}, {"offset", problem.offset}, {"text", problem.text}});
  }
  json["problems"] = problems;
  Json odd = Json::array();
  for (const tplog::TplogOddMessages& each : report.odd) {
    odd.push_back(
        {{"messages", each.messages}, {"first_offset", each.first_offset}, {"text", each.text}});
  }
  json["odd"] = odd;
  json["damaged"] = JsonOf(report.damaged);
  return json;
}

void PrintCheck(const std::string& file, const tplog::TplogReport& report) {
  PrintTotals(file, report.totals);
  if (!report.indexed) {
    fmt::print("  no index\n");
  } else {
    fmt::print("  index: {} blocks with {} of the messages\n", report.blocks,
               report.messages_indexed);
  }
  if (report.live) fmt::print("  a tickerplant has it open\n");
  if (report.is_sound()) {
    fmt::print("  no damage found\n");
    return;
  }
  for (const tplog::TplogOddMessages& odd : report.odd) fmt::print("odd messages: {}\n", odd.text);
  for (const TplogProblem& problem : report.problems) {
    fmt::print("{}: {}\n", NameOf(problem.kind), problem.text);
  }
  if (report.problem_count > report.problems.size()) {
    fmt::print("and {} more\n", report.problem_count - report.problems.size());
  }
}

Json JsonOf(const std::string& file, const tplog::TplogRepairReport& report) {
  Json json = {{"file", file}, {"problem_count", report.found.problem_count}};
  AddTotals(report.totals, json);
  json["log_bytes"] = report.totals.log_bytes;
  json["log_bytes_cut"] = report.log_bytes_cut;
  json["cut_path"] = report.cut_path.empty() ? Json() : Json(report.cut_path);
  json["index_bytes_cut"] = report.index_bytes_cut;
  json["index_cut_path"] = report.index_cut_path.empty() ? Json() : Json(report.index_cut_path);
  json["messages_indexed"] = report.messages_indexed;
  json["repaired_path"] = report.repaired_path.empty() ? Json() : Json(report.repaired_path);
  json["left_out"] = JsonOf(report.left_out);
  return json;
}

void PrintRepair(const std::string& file, const tplog::TplogRepairReport& report) {
  PrintTotals(report.repaired_path.empty() ? file : report.repaired_path, report.totals);
  for (const tplog::TplogRange& range : report.left_out) {
    fmt::print("  not copied: {} bytes from byte {}\n", range.bytes, range.offset);
  }
  if (!report.repaired_path.empty()) fmt::print("  {} is unchanged\n", file);
  if (report.log_bytes_cut != 0) {
    fmt::print("  cut off: {} bytes, kept in {}\n", report.log_bytes_cut, report.cut_path);
  }
  if (!report.index_cut_path.empty()) {
    fmt::print("  the damaged part of the index is kept in {}\n", report.index_cut_path);
  }
  if (report.messages_indexed != 0) {
    fmt::print("  indexed: {} messages; the progress of feeds in them is unknown\n",
               report.messages_indexed);
  }
  if (report.repaired_path.empty()) {
    for (const tplog::TplogOddMessages& odd : report.found.odd) {
      fmt::print("  left as they are, --skip-damaged copies the others: {}\n", odd.text);
    }
  }
  if (report.found.is_sound()) fmt::print("  no damage found; nothing was changed\n");
}

}  // namespace

int RunLogDump(const LogDumpOptions& options) {
  if (const absl::Status status = Dump(options); !status.ok()) return Failed("dump", status);
  return 0;
}

int RunLogCheck(const LogCheckOptions& options) {
  const absl::StatusOr<tplog::TplogReport> report = tplog::CheckTplog(options.file);
  if (!report.ok()) return Failed("check", report.status());
  if (options.json) {
    fmt::print("{}\n", Dumped(JsonOf(options.file, *report), 2));
  } else {
    PrintCheck(options.file, *report);
  }
  return report->is_sound() ? 0 : 1;
}

int RunLogRepair(const LogRepairOptions& options) {
  tplog::TplogRepairOptions repair;
  repair.skip_damaged = options.skip_damaged;
  const absl::StatusOr<tplog::TplogRepairReport> report = tplog::RepairTplog(options.file, repair);
  if (!report.ok()) {
    const int code = Failed("repair", report.status());
    if (report.status().code() == absl::StatusCode::kDataLoss && !options.skip_damaged) {
      fmt::print(stderr, "--skip-damaged copies all undamaged messages to {}.repaired\n",
                 options.file);
    }
    return code;
  }
  if (options.json) {
    fmt::print("{}\n", Dumped(JsonOf(options.file, *report), 2));
  } else {
    PrintRepair(options.file, *report);
  }
  return 0;
}

}  // namespace tickstack::cli
