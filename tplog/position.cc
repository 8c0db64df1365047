#include "tplog/position.h"

#include <algorithm>

namespace tickstack::tplog {

bool Position::EnterPublication(uint64_t seq) {
  if (seq < publication_seq_ || seq <= seq_) return false;
  if (seq == publication_seq_) return true;
  // Rows ahead of a whole publication belong to the messages of the one that begins.
  if (seq_ < publication_seq_) rows_ahead_.clear();
  seq_ = publication_seq_;
  publication_seq_ = seq;
  return true;
}

// Takes note that everything up to `seq` has arrived, even if the last publications had no rows
// here.
bool Position::EndPublication(uint64_t seq) {
  if (seq < publication_seq_) return false;
  if (seq > seq_) rows_ahead_.clear();
  seq_ = publication_seq_ = seq;
  return true;
}

bool Position::OnPublished(std::string_view table, uint64_t rows, int64_t seq) {
  const bool in_order = seq < 0 ? EndPublication(static_cast<uint64_t>(-1 - seq))
                                : EnterPublication(static_cast<uint64_t>(seq));
  if (!in_order) return false;
  const auto at = rows_ahead_.find(table);
  if (at != rows_ahead_.end()) {
    at->second += rows;
  } else {
    rows_ahead_.emplace(table, rows);
  }
  return true;
}

uint64_t Position::RowsHere(std::string_view table, uint64_t rows) {
  const auto at = rows_ahead_.find(table);
  if (at == rows_ahead_.end()) return 0;
  const uint64_t here = std::min(rows, at->second);
  at->second -= here;
  return here;
}

bool Position::HasRowsAhead() const {
  return std::any_of(rows_ahead_.begin(), rows_ahead_.end(),
                     [](const auto& ahead) { return ahead.second > 0; });
}

uint64_t Position::FurthestSeq() const {
  if (!HasRowsAhead()) return std::max(seq_, publication_seq_);
  // Rows ahead of the publication that is arriving belong to it. Before a publication begins, its
  // end is unknown.
  return publication_seq_ > seq_ ? publication_seq_ : UINT64_MAX;
}

bool Position::OnCaughtUp(uint64_t seq) {
  const bool all_in_log = !HasRowsAhead();
  rows_ahead_.clear();
  seq_ = publication_seq_ = seq;
  return all_in_log;
}

void Position::Save(ByteBuffer& record) const {
  record.AppendLittle(seq_);
  record.AppendLittle(publication_seq_);
  record.AppendLittle(static_cast<uint32_t>(rows_ahead_.size()));
  for (const auto& [table, rows] : rows_ahead_) {
    AppendBytes(AsBytes(table), record);
    record.AppendLittle(rows);
  }
}

bool Position::Load(RecordReader& record) {
  uint32_t tables = 0;
  if (!record.Read(&seq_) || !record.Read(&publication_seq_) || !record.Read(&tables)) return false;
  for (uint32_t i = 0; i < tables; ++i) {
    std::string table;
    uint64_t rows = 0;
    if (!record.ReadText(&table) || !record.Read(&rows)) return false;
    rows_ahead_.insert_or_assign(std::move(table), rows);
  }
  return true;
}

}  // namespace tickstack::tplog
