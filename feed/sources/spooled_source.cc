#include "feed/sources/spooled_source.h"

#include <algorithm>

#include "base/printable.h"
#include "base/status.h"

namespace tickstack::feed {
namespace {

constexpr int64_t kSpoolNs = 10'000'000;  // Longest time that rows wait for a record.
constexpr int64_t kRoomNs = 100'000'000;  // How often it looks for room while too much is kept.
constexpr size_t kBatchBytes = 200;       // What a kept batch takes besides its data.
constexpr int64_t kKeptBytesPerMib = int64_t{1} << 20;

}  // namespace

SpooledSource::SpooledSource(MarketRows rows, const MarketOptions& options, std::string description,
                             std::unique_ptr<live::RowSpool> spool)
    : rows_(std::move(rows)),
      spool_(std::move(spool)),
      batch_rows_(options.batch_rows),
      keep_bytes_max_(static_cast<size_t>(options.live.keep_mib * kKeptBytesPerMib)),
      description_(fmt::format("{} rows={}", description, spool_->directory())) {
  kept_ = spool_->TakeBatches();
  for (const live::SpoolBatch& batch : kept_) kept_bytes_ += batch.data.capacity() + kBatchBytes;
  rows_.Continue(spool_->next_rows());
}

std::vector<market::StreamPosition> SpooledSource::Continue() {
  std::vector<market::StreamPosition> positions = spool_->Positions();
  for (const market::StreamPosition& position : positions) {
    spooled_seqs_[{position.channel, position.session}] = position.next_seq;
  }
  return positions;
}

void SpooledSource::Stop() {
  if (is_receiving()) Spool(spooled_ns_);
}

void SpooledSource::Fail(const absl::Status& error, int64_t now_ns) {
  Spool(now_ns);
  error_.Update(error);
}

absl::Status SpooledSource::CheckRows(const NameMap<int64_t>& rows_done) const {
  for (const std::string& table : tables()) {
    const auto found = rows_done.find(table);
    const int64_t done = found == rows_done.end() ? 0 : found->second;
    const auto next = spool_->next_rows().find(table);
    const int64_t made = next == spool_->next_rows().end() ? 0 : next->second;
    const auto first = std::ranges::find(kept_, table, &live::SpoolBatch::table);
    const int64_t kept_from = first == kept_.end() ? made : first->first_row;
    if (done >= kept_from && done <= made) continue;
    return DataLoss(
        "{}: it has rows {} to {} of {}, the tickerplant has logged {}: remove the directory to "
        "begin anew",
        spool_->directory(), kept_from, made, table, done);
  }
  return absl::OkStatus();
}

absl::Status SpooledSource::Rewind(const NameMap<int64_t>& rows_done) {
  TS_RETURN_IF_ERROR(error_);
  TS_RETURN_IF_ERROR(CheckRows(rows_done));
  OnLogged(rows_done);
  next_ = 0;
  if (joined_) return absl::OkStatus();
  TS_RETURN_IF_ERROR(Join());
  joined_ = true;
  return absl::OkStatus();
}

bool SpooledSource::IsDone(const live::SpoolBatch& batch) const {
  const auto done = rows_done_.find(batch.table);
  return done != rows_done_.end() && batch.first_row + batch.rows <= done->second;
}

void SpooledSource::OnLogged(const NameMap<int64_t>& rows_logged) {
  rows_done_ = rows_logged;
  while (!kept_.empty() && IsDone(kept_.front())) {
    kept_bytes_ -= kept_.front().data.capacity() + kBatchBytes;
    kept_.pop_front();
    if (next_ > 0) --next_;
  }
  error_.Update(spool_->RemoveBefore(kept_.empty() ? spool_->file() : kept_.front().file));
}

int64_t SpooledSource::next_due_ns() const {
  if (!error_.ok()) return kAlwaysDue;
  if (next_ < kept_.size()) return kept_[next_].due_ns;
  return pending_due_ns_ == kNeverDue ? kNotDueYet : pending_due_ns_;
}

absl::StatusOr<const FeedBatch*> SpooledSource::Next(int64_t now_ns) {
  if (next_ == kept_.size() && pending_due_ns_ != kNeverDue) Spool(now_ns);
  TS_RETURN_IF_ERROR(error_);
  while (next_ < kept_.size() && IsDone(kept_[next_])) ++next_;
  if (next_ == kept_.size()) return nullptr;
  const live::SpoolBatch& next = kept_[next_++];
  batch_.table = next.table;
  batch_.first_row = next.first_row;
  batch_.rows = next.rows;
  batch_.due_ns = next.due_ns;
  batch_.data = next.data;
  return &batch_;
}

// Returns the positions that are not in the spool yet.
std::vector<market::StreamPosition> SpooledSource::ChangedPositions() {
  std::vector<market::StreamPosition> positions = Positions();
  std::erase_if(positions, [this](const market::StreamPosition& position) {
    uint64_t& spooled = spooled_seqs_[{position.channel, position.session}];
    return std::exchange(spooled, position.next_seq) == position.next_seq;
  });
  return positions;
}

// Writes the collected rows, and the position up to which they are complete, as one record. While
// messages give no rows, the position stays: their gap is not written yet.
void SpooledSource::Spool(int64_t now_ns) {
  std::vector<live::SpoolBatch> batches;
  ByteBuffer data;
  for (FeedBatch taken; rows_.Take(data, taken); data = ByteBuffer()) {
    live::SpoolBatch& batch = batches.emplace_back();
    batch.table = taken.table;
    batch.first_row = taken.first_row;
    batch.rows = taken.rows;
    batch.due_ns = pending_due_ns_;
    batch.data = std::move(data);
  }
  pending_due_ns_ = kNeverDue;
  has_news_ = false;
  spooled_ns_ = now_ns;
  std::vector<market::StreamPosition> positions;
  if (!drops_) positions = ChangedPositions();
  if (batches.empty() && positions.empty()) return;
  error_.Update(spool_->Append(positions, batches));
  if (!error_.ok()) return;
  for (live::SpoolBatch& batch : batches) {
    kept_bytes_ += batch.data.capacity() + kBatchBytes;
    kept_.push_back(std::move(batch));
  }
}

void SpooledSource::Collect(int64_t due_ns) {
  has_news_ = true;
  if (rows_.rows_max() > 0) pending_due_ns_ = std::min(pending_due_ns_, due_ns);
  if (rows_.rows_max() >= batch_rows_) Spool(due_ns);
}

void SpooledSource::CheckRoom(int64_t now_ns) {
  if (!pauses_ && kept_bytes_ >= keep_bytes_max_ / 2) {
    SetPaused(pauses_ = true);
  } else if (pauses_ && kept_bytes_ <= keep_bytes_max_ / 4) {
    SetPaused(pauses_ = false);
  }
  if (!drops_ && kept_bytes_ >= keep_bytes_max_) {
    Spool(now_ns);
    drops_ = true;
    SetDrops(true, now_ns);
    LogError("messages give no rows: the tickerplant has not logged those before kept_bytes={}",
             kept_bytes_);
  } else if (drops_ && kept_bytes_ <= keep_bytes_max_ / 2) {
    drops_ = false;
    SetDrops(false, now_ns);
    Collect(now_ns);
    LogWarn("messages give rows again dropped={}", MessagesCounted().dropped);
  }
}

int64_t SpooledSource::Finish(int64_t now_ns) {
  if (has_news_ && now_ns - spooled_ns_ >= kSpoolNs) Spool(now_ns);
  ReportProblems();
  int64_t call_ns = kNeverDue;
  if (has_news_) call_ns = spooled_ns_ + kSpoolNs;
  if (drops_ || pauses_) call_ns = std::min(call_ns, now_ns + kRoomNs);
  return call_ns;
}

void SpooledSource::ReportProblems() {
  const market::MessageCounts& counts = MessagesCounted();
  if (counts.problems == problems_reported_ || !problem_limit_.Pass()) return;
  LogWarn("does not fit count={} last=\"{}\"", counts.problems, Printable(counts.last_problem));
  problems_reported_ = counts.problems;
}

}  // namespace tickstack::feed
