#include "feed/sources/market_source.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "base/printable.h"
#include "base/status.h"

namespace tickstack::feed {
namespace {

constexpr double kSpeedMax = 1e6;
constexpr double kPaceNsMax = 1e18;

}  // namespace

SourceOption GapWaitOption(int64_t* field) {
  constexpr int64_t kGapWaitMsMax = 3'600'000;
  return {"gap_wait_ms", "time of the capture that late packets are waited for", field, 0,
          kGapWaitMsMax};
}

std::vector<SourceOption> MarketOptions::ListCommon(std::string_view what) {
  return {{"path", what, &path},
          {"tables", "tables to publish, such as trade,status (absent: all)", &tables},
          {"map", "changes of tables and columns", &map},
          BatchRowsOption(&batch_rows),
          {"speed", "speed relative to real time (0: as fast as possible)", &speed}};
}

absl::StatusOr<std::vector<MappedTable>> MarketOptions::MapWanted() const {
  const std::vector<std::string> all = AllTables();
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  std::vector<Schema> wanted;
  for (const Schema& schema : MarketSchemas(Types())) {
    if (!has(all, schema.table) || (!tables.empty() && !has(tables, schema.table))) continue;
    wanted.push_back(schema);
  }
  return MapTables(wanted, map);
}

std::vector<MappedTable> MarketOptions::WantedTables() const {
  absl::StatusOr<std::vector<MappedTable>> mapped = MapWanted();
  TS_CHECK(mapped.ok());
  return *std::move(mapped);
}

std::vector<Schema> MarketOptions::Schemas() const {
  std::vector<Schema> schemas;
  for (MappedTable& table : WantedTables()) schemas.push_back(std::move(table.schema));
  return schemas;
}

std::vector<SourceOption> LiveOptions::List() {
  constexpr int64_t kReceiveMibMax = 1'000;
  return {{"lines", "live: lines to receive, such as 239.1.1.1:5000,239.2.1.1:5000@eth2", &lines},
          {"interface", "live: interface of lines without one", &interface},
          KeepOption(),
          {"receive_mib", "live: MiB of the kernel's buffer of each line", &receive_mib, 1,
           kReceiveMibMax}};
}

SourceOption LiveOptions::KeepOption() {
  constexpr int64_t kMibMax = 1'000'000;
  return {"keep_mib", "live: MiB of rows kept while the tickerplant is away", &keep_mib, 1,
          kMibMax};
}

SourceOption LiveOptions::RequestOption() {
  return {"request", "live: server to ask for missing messages, such as 10.1.1.1:6000", &request};
}

std::vector<SourceOption> LiveOptions::SoupOptions() {
  return {{"soup_credentials", "live: file with user:password of SoupBinTCP lines, mode 0600",
           &soup_credentials},
          {"soup_session", "live: session of SoupBinTCP lines (absent: the server's current one)",
           &soup_session}};
}

absl::Status MarketOptions::CheckCommon(std::string_view what) const {
  if (live.is_on()) {
    if (!path.empty()) return InvalidArgument("expected path or lines, found both");
    if (speed != 0) return InvalidArgument("speed {}: lines have their own", speed);
    if (folder.empty()) return InvalidArgument("lines: a directory for their rows is missing");
  } else if (path.empty()) {
    return InvalidArgument("--path is missing (in a configuration: path): expected a {}", what);
  }
  const std::vector<std::string> all = AllTables();
  for (const std::string& table : tables) {
    if (std::ranges::find(all, table) != all.end()) continue;
    return InvalidArgument("tables: '{}', expected {}", table, fmt::join(all, ", "));
  }
  TS_RETURN_IF_ERROR(CheckMap());
  if (batch_rows < 1 || batch_rows > kBatchRowsMax) {
    return InvalidArgument("batch-rows {}: expected 1 to {}", batch_rows, kBatchRowsMax);
  }
  if (!(speed >= 0 && speed <= kSpeedMax)) {
    return InvalidArgument("speed {}: expected 0 to {}", speed, kSpeedMax);
  }
  return absl::OkStatus();
}

std::string MarketOptions::CommonRowsName(std::string_view source, std::string_view more) const {
  std::error_code unknown;  // Then the path as it was given says which file it is.
  const std::filesystem::path absolute = std::filesystem::absolute(path, unknown);
  const std::string file = unknown ? path : absolute.lexically_normal().string();
  std::string text = fmt::format("{}.{}", file, fmt::join(tables, ","));
  if (!more.empty()) text += fmt::format(".{}", more);
  text += feed::Describe(map);
  return fmt::format("{}.{}.{}", source, date, ShortName(std::move(text)));
}

MarketSource::MarketSource(std::unique_ptr<market::EventReader> reader, MarketRows rows,
                           const MarketOptions& options, std::string description)
    : reader_(std::move(reader)),
      rows_(std::move(rows)),
      description_(std::move(description)),
      batch_rows_(options.batch_rows),
      speed_(options.speed) {}

absl::StatusOr<std::unique_ptr<MarketSource>> MarketSource::Create(
    std::unique_ptr<market::EventReader> reader, MarketRows rows, const MarketOptions& options,
    std::string description) {
  std::unique_ptr<MarketSource> source(
      new MarketSource(std::move(reader), std::move(rows), options, std::move(description)));
  TS_RETURN_IF_ERROR(source->Rewind({}));
  return source;
}

absl::Status MarketSource::Rewind(const NameMap<int64_t>& rows_done) {
  TS_RETURN_IF_ERROR(reader_->Rewind());
  rows_.Rewind(rows_done);
  collected_ = false;
  seeks_ = true;
  end_reported_ = false;
  problems_reported_ = 0;
  time_ns_ = kNullLong;
  error_ = absl::OkStatus();
  Advance();
  return absl::OkStatus();
}

void MarketSource::Advance() {
  const absl::StatusOr<bool> more = reader_->Advance();
  has_next_ = more.ok() && *more;
  if (!more.ok()) error_ = more.status();
  if (!has_next_) return ReportEnd();
  // Times of some streams are not in order; a message is not due before those before it.
  const int64_t time_ns = reader_->time_ns();
  if (time_ns != kNullLong) time_ns_ = std::max(time_ns_, time_ns);
}

void MarketSource::Start(int64_t now_ns) {
  start_ns_ = now_ns;
  now_ns_ = now_ns;
}

int64_t MarketSource::DueNs() const {
  if (speed_ == 0 || seeks_ || !start_time_ns_ || time_ns_ == kNullLong) return now_ns_;
  const auto after = static_cast<double>(static_cast<__int128>(time_ns_) - *start_time_ns_);
  return start_ns_ + static_cast<int64_t>(std::clamp(after / speed_, 0.0, kPaceNsMax));
}

int64_t MarketSource::next_due_ns() const {
  if (!collected_ && !has_next_ && error_.ok()) return kNeverDue;
  if (speed_ == 0 || !has_next_) return kAlwaysDue;
  return collected_ ? window_due_ns_ : DueNs();
}

// Decodes messages that are due until a table has a batch.
void MarketSource::Fill(int64_t now_ns) {
  now_ns_ = now_ns;
  window_due_ns_ = DueNs();
  for (int64_t n = 0; n < kSliceMessages && has_next_ && error_.ok(); ++n) {
    const int64_t due_ns = DueNs();
    if (due_ns > now_ns) break;
    error_ = reader_->Decode(rows_);
    if (rows_.rows_max() > 0 && seeks_) {
      seeks_ = false;
      if (!start_time_ns_ && time_ns_ != kNullLong) {
        start_time_ns_ = time_ns_;
        start_ns_ = now_ns;
      }
    }
    if (!error_.ok()) {
      has_next_ = false;
      ReportEnd();
      break;
    }
    last_due_ns_ = due_ns;
    Advance();
    if (rows_.rows_max() >= batch_rows_) break;
  }
  collected_ = rows_.rows_max() > 0;
  ReportProblems();
}

absl::StatusOr<const FeedBatch*> MarketSource::Next(int64_t now_ns) {
  if (!collected_) Fill(now_ns);
  if (collected_) {
    batch_.due_ns = last_due_ns_;
    if (rows_.Take(data_, batch_)) {
      return &batch_;
    }
    collected_ = false;
    // The caller may call again at once.
    return Next(now_ns);
  }
  if (!has_next_ && !error_.ok()) return error_;
  return nullptr;
}

void MarketSource::ReportProblems() {
  const market::MessageCounts& counts = reader_->counts();
  if (counts.problems == problems_reported_) return;
  if (!problem_limit_.Pass()) return;
  LogWarn("does not fit count={} last=\"{}\"", counts.problems, Printable(counts.last_problem));
  problems_reported_ = counts.problems;
}

void MarketSource::ReportEnd() {
  if (std::exchange(end_reported_, true)) return;
  std::string text;
  for (const auto& [name, count] : Counts()) text += fmt::format(" {}={}", name, count);
  LogInfo("read to the end {}{}", description_, text);
  const market::MessageCounts& counts = reader_->counts();
  if (counts.problems > problems_reported_) {
    LogWarn("does not fit count={} last=\"{}\"", counts.problems, Printable(counts.last_problem));
    problems_reported_ = counts.problems;
  }
}

SourceCounts MarketSource::Counts() const { return NamedCounts(*reader_); }

SourceCounts NamedCounts(const market::EventReader& reader) {
  const market::MessageCounts& counts = reader.counts();
  SourceCounts named;
  const auto add_types = [&](const std::string& prefix, const auto& by_type) {
    for (size_t type = 0; type < by_type.size(); ++type) {
      if (by_type[type] == 0) continue;
      named.emplace_back(prefix + reader.TypeName(static_cast<uint8_t>(type)), by_type[type]);
    }
  };
  add_types(std::string(), counts.decoded);
  add_types("unknown_", counts.unknown);
  add_types("bad_", counts.bad);
  for (auto& count : NamedCounts(counts)) named.push_back(std::move(count));
  return named;
}

SourceCounts NamedCounts(const market::MessageCounts& counts) {
  SourceCounts named(counts.named.begin(), counts.named.end());
  const std::pair<std::string_view, int64_t> others[] = {{"packets", counts.packets},
                                                         {"bad_packets", counts.bad_packets},
                                                         {"other_packets", counts.other_packets},
                                                         {"heartbeats", counts.heartbeats},
                                                         {"repeated", counts.repeated},
                                                         {"gaps", counts.gaps},
                                                         {"dropped", counts.dropped},
                                                         {"unmatched", counts.unmatched}};
  for (const auto& [name, count] : others) {
    if (count > 0) named.emplace_back(name, count);
  }
  return named;
}

}  // namespace tickstack::feed
