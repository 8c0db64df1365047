#include "feed/sources/tplog_source.h"

#include <algorithm>
#include <filesystem>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "base/time.h"

namespace tickstack::feed {
namespace {

std::optional<int64_t> FirstTime(const wire::UpdView& upd) {
  if (upd.batch.columns.empty() || upd.batch.rows == 0) return std::nullopt;
  const ColumnView& time = upd.batch.columns.front();
  if (time.type != Type::kTimestamp && time.type != Type::kTimespan) return std::nullopt;
  const auto ns = LoadLittle<int64_t>(time.data.data());
  if (ns == kNullLong) return std::nullopt;
  return ns;
}

}  // namespace

std::vector<SourceOption> TplogOptions::List() {
  return {{"path", "path of the log", &path},
          {"speed", "speed relative to real time (0: as fast as possible)", &speed}};
}

absl::StatusOr<std::unique_ptr<Source>> TplogOptions::Open() const {
  return TplogSource::Create(*this);
}

std::string TplogOptions::RowsName() const {
  std::error_code unknown;  // Then the path as it was given says which log it is.
  const std::filesystem::path absolute = std::filesystem::absolute(path, unknown);
  return fmt::format("tplog.{}", ShortName(unknown ? path : absolute.lexically_normal().string()));
}

absl::StatusOr<std::unique_ptr<TplogSource>> TplogSource::Create(const TplogOptions& options) {
  if (options.path.empty()) return InvalidArgument("path '': expected a tickerplant log");
  if (!(options.speed >= 0 && options.speed <= 1e6)) {
    return InvalidArgument("speed {}: expected 0 to 1000000", options.speed);
  }
  std::unique_ptr<TplogSource> source(new TplogSource(options));
  TS_ASSIGN_OR_RETURN(source->reader_, tplog::TplogReader::Open(options.path));
  while (true) {
    TS_ASSIGN_OR_RETURN(const std::optional<tplog::TplogMessage> message, source->reader_->Next());
    if (!message) break;
    ++source->messages_;
    wire::UpdView upd;
    if (!source->decoder_.Decode(message->body, &upd).ok()) {
      ++source->messages_skipped_;
      continue;
    }
    std::vector<std::string>& tables = source->tables_;
    if (std::find(tables.begin(), tables.end(), upd.table) == tables.end()) {
      tables.emplace_back(upd.table);
    }
  }
  TS_RETURN_IF_ERROR(source->Rewind({}));
  return source;
}

std::string TplogSource::Describe() const {
  return fmt::format("tplog path={} messages={} skipped={}", path_, messages_, messages_skipped_);
}

void TplogSource::Start(int64_t now_ns) {
  start_ns_ = now_ns;
  start_time_ns_ = next_time_ns_;
}

int64_t TplogSource::DueNs(int64_t now_ns) const {
  if (speed_ == 0 || !next_time_ns_ || !start_time_ns_) return now_ns;
  const auto after = static_cast<double>(static_cast<__int128>(*next_time_ns_) - *start_time_ns_);
  return start_ns_ + static_cast<int64_t>(std::clamp(after / speed_, 0.0, 1e18));
}

int64_t TplogSource::next_due_ns() const {
  if (!error_.ok()) return kAlwaysDue;
  if (!next_) return kNeverDue;
  return DueNs(kAlwaysDue);
}

absl::Status TplogSource::Rewind(const NameMap<int64_t>& rows_done) {
  TS_RETURN_IF_ERROR(reader_->Seek(0));
  rows_done_ = rows_done;
  rows_read_.clear();
  error_ = Advance();
  return absl::OkStatus();
}

// Reads on to the next upd with rows that are not done.
absl::Status TplogSource::Advance() {
  next_.reset();
  next_time_ns_.reset();
  while (true) {
    TS_ASSIGN_OR_RETURN(const std::optional<tplog::TplogMessage> message, reader_->Next());
    if (!message) return absl::OkStatus();
    wire::UpdView upd;
    if (!decoder_.Decode(message->body, &upd).ok() || upd.batch.rows == 0) continue;
    int64_t& rows = rows_read_[upd.table];
    rows += static_cast<int64_t>(upd.batch.rows);
    const auto done = rows_done_.find(upd.table);
    if (done != rows_done_.end() && rows <= done->second) continue;
    next_ = upd;
    next_time_ns_ = FirstTime(upd);
    return absl::OkStatus();
  }
}

absl::StatusOr<const FeedBatch*> TplogSource::Next(int64_t now_ns) {
  TS_RETURN_IF_ERROR(error_);
  if (!next_ || DueNs(now_ns) > now_ns) return nullptr;
  if (!start_time_ns_) {
    start_time_ns_ = next_time_ns_;
    start_ns_ = now_ns;
  }
  const auto rows = static_cast<int64_t>(next_->batch.rows);
  table_ = next_->table;
  data_.clear();
  data_.Append(next_->x);
  batch_ = {table_, rows_read_[table_] - rows, rows, DueNs(now_ns), data_.span()};
  error_ = Advance();
  return &batch_;
}

}  // namespace tickstack::feed
