#include "tplog/tplog_check.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/status.h"
#include "tplog/message_census.h"
#include "tplog/tplog_index.h"
#include "tplog/tplog_recovery.h"
#include "tplog/tplog_scanner.h"
#include "tplog/tplog_state.h"
#include "wire/codec.h"

namespace tickstack::tplog {
namespace {

using Kind = TplogProblem::Kind;
using Bytes = std::span<const std::byte>;

class Check {
 public:
  // With `usual`, which has counted all messages, finds the ranges of odd ones instead.
  explicit Check(File log, const MessageCensus* usual = nullptr)
      : log_(std::move(log)), usual_(usual), scanner_(log_, kTplogHeaderBytes) {}

  const MessageCensus& census() const { return census_; }

  absl::StatusOr<TplogReport> Run() {
    TS_RETURN_IF_ERROR(CheckTplogHeader(log_));
    TS_ASSIGN_OR_RETURN(report_.live, log_.IsLockedByAnother());
    // The order matters: see TplogIndexReader.
    TS_ASSIGN_OR_RETURN(report_.log_bytes, log_.Bytes());
    report_.totals.log_bytes = kTplogHeaderBytes;
    TS_RETURN_IF_ERROR(CheckIndexed());
    if (!ended_) TS_RETURN_IF_ERROR(CheckTail());
    for (MessageCensus::Odd& odd : census_.FindOdd(/*of_ticks=*/!report_.indexed)) {
      report_.odd.push_back(
          {odd.messages, odd.first.offset,
           fmt::format("{}: {} messages have {}; the first one is message {} at "
                       "byte {}",
                       log_.path(), odd.messages, odd.text, odd.first.seq, odd.first.offset)});
    }
    return std::move(report_);
  }

 private:
  absl::Status CheckIndexed();
  absl::StatusOr<bool> CheckBlock(const TplogIndexReader::Record& record,
                                  const IndexDictionary& names);
  void NoteBlock(const IndexBlock& block) {
    ++report_.blocks;
    report_.messages_indexed += block.messages;
  }
  void CompareCounts(const TplogIndexReader::Record& record, const IndexDictionary& names);
  absl::Status CheckTornBlock(const TplogIndexReader::Record& record, const IndexDictionary& names);
  absl::Status CheckTail();
  absl::Status CheckDamage(uint64_t offset);
  void Count(Bytes body, uint64_t offset, bool is_proven);
  void TakeCounted(uint64_t end_offset);
  void Report(Kind kind, uint64_t offset, std::string text);

  const File log_;
  const MessageCensus* const usual_;
  MessageCensus census_;
  TplogScanner scanner_;
  TplogReport report_;
  BlockCounter counted_;
  ByteBuffer block_bytes_;
  bool ended_ = false;  // True if nothing is left of the log.
};

void Check::Report(Kind kind, uint64_t offset, std::string text) {
  if (report_.live && (kind == Kind::kTornLog || kind == Kind::kTornIndex)) return;
  ++report_.problem_count;
  if (report_.problems.size() < kTplogProblemsMax) {
    report_.problems.push_back({kind, offset, std::move(text)});
  }
}

// Counts a message; it is proven if a tickerplant logged it and its checksum matches.
void Check::Count(Bytes body, uint64_t offset, bool is_proven) {
  const uint64_t seq = report_.totals.messages + counted_.messages();
  const wire::UpdView* const upd = counted_.Add(body);
  if (is_proven) return;
  if (usual_ == nullptr) return census_.Add(upd, body, {seq, offset});
  if (!usual_->IsOdd(upd, body)) return;
  std::vector<TplogRange>& ranges = report_.odd_ranges;
  if (!ranges.empty() && ranges.back().offset + ranges.back().bytes == offset) {
    ranges.back().bytes += body.size();
  } else {
    ranges.push_back({offset, body.size()});
  }
}

// Adds the counted messages to the totals.
void Check::TakeCounted(uint64_t end_offset) {
  report_.totals.messages += counted_.messages();
  report_.totals.log_bytes = end_offset;
  for (const auto& [table, rows] : counted_.rows()) report_.totals.rows[table] += rows;
  counted_.Clear();
}

absl::Status Check::CheckIndexed() {
  const std::string path = TplogIndexPath(log_.path());
  TS_ASSIGN_OR_RETURN(report_.indexed, FileExists(path));
  if (!report_.indexed) return absl::OkStatus();
  absl::StatusOr<TplogIndexReader> index = TplogIndexReader::Open(path);
  if (!index.ok()) {
    Report(Kind::kIndexDamaged, 0, std::string(Message(index.status())));
    return absl::OkStatus();
  }
  TS_ASSIGN_OR_RETURN(report_.index_bytes, index->file().Bytes());
  while (true) {
    const absl::StatusOr<std::optional<TplogIndexReader::Record>> record = index->Next();
    if (!record.ok()) {
      if (record.status().code() != absl::StatusCode::kDataLoss) return record.status();
      Report(Kind::kIndexDamaged, index->position(), std::string(Message(record.status())));
      return absl::OkStatus();
    }
    if (!record->has_value()) break;
    if ((*record)->kind == RecordKind::kProgress) {
      AddProgress((*record)->progress, index->names(), report_.totals);
    } else if ((*record)->block.end_offset() > report_.log_bytes) {
      return CheckTornBlock(**record, index->names());
    } else {
      TS_ASSIGN_OR_RETURN(const bool sound, CheckBlock(**record, index->names()));
      if (!sound) return absl::OkStatus();
    }
  }
  if (index->torn_bytes() == 0) return absl::OkStatus();
  ByteBuffer tail;
  tail.resize(index->torn_bytes());
  TS_ASSIGN_OR_RETURN(const size_t got, index->file().ReadAt(index->position(), tail.span()));
  tail.resize(got);
  if (WithoutFlippedBit(tail).has_value()) {
    Report(Kind::kFlippedIndex, index->position(),
           fmt::format("{}: record at byte {} matches its checksum only if one of its bits is "
                       "flipped back",
                       path, index->position()));
  } else {
    Report(Kind::kTornIndex, index->position(),
           fmt::format("{}: record at byte {} is torn: {} bytes of it", path, index->position(),
                       index->torn_bytes()));
  }
  return absl::OkStatus();
}

// Returns false if the index is of no use from here on.
absl::StatusOr<bool> Check::CheckBlock(const TplogIndexReader::Record& record,
                                       const IndexDictionary& names) {
  const IndexBlock& block = record.block;
  block_bytes_.clear();
  block_bytes_.resize(block.bytes);
  TS_ASSIGN_OR_RETURN(const size_t got, log_.ReadAt(block.offset, block_bytes_.span()));
  block_bytes_.resize(got);
  TplogTotals& totals = report_.totals;
  const uint32_t crc = Crc32c(block_bytes_);
  if (got != block.bytes || crc != block.crc) {
    Report(
        Kind::kLogDamaged, block.offset,
        fmt::format("{}: block at byte {}, messages {} to {}: checksum {:08x} over {} bytes, its "
                    "index says {:08x}",
                    log_.path(), block.offset, block.first_seq, block.end_seq() - 1, crc,
                    block.bytes, block.crc));
    report_.damaged.push_back({block.offset, block.bytes});
    AddBlock(block, names, totals);
    NoteBlock(block);
    return true;
  }
  for (Bytes rest = block_bytes_; !rest.empty();) {
    const absl::StatusOr<std::optional<size_t>> bytes = ValueBytes(rest);
    if (!bytes.ok() || !bytes->has_value()) {
      // The bytes are those that were written, so the record is wrong. If the message is wrong,
      // that shows when the rest is read without the index.
      Report(
          Kind::kIndexDamaged, record.begin,
          fmt::format("{}: record at byte {}, block at byte {}: message at byte {} is not whole in "
                      "it",
                      TplogIndexPath(log_.path()), record.begin, block.offset,
                      block.end_offset() - rest.size()));
      counted_.Clear();
      return false;
    }
    Count(rest.first(**bytes), block.end_offset() - rest.size(), block.source != kSourceUnknown);
    rest = rest.subspan(**bytes);
  }
  CompareCounts(record, names);
  AddFeedRows(block, names, report_.totals);
  TakeCounted(block.end_offset());
  NoteBlock(block);
  return true;
}

void Check::CompareCounts(const TplogIndexReader::Record& record, const IndexDictionary& names) {
  const IndexBlock& block = record.block;
  const auto report = [&](uint64_t counted, std::string_view of, uint64_t indexed) {
    if (counted == indexed) return;
    Report(
        Kind::kIndexDamaged, record.begin,
        fmt::format("{}: record at byte {}, block at byte {}: has {} {}, the index says {}",
                    TplogIndexPath(log_.path()), record.begin, block.offset, counted, of, indexed));
  };
  report(counted_.messages(), "messages", block.messages);
  TableRows indexed;
  for (const IndexRows& rows : block.rows) indexed[names.tables.NameOf(rows.table)] += rows.rows;
  for (const auto& [table, rows] : counted_.rows()) indexed.try_emplace(table, 0);
  for (const auto& [table, rows] : indexed) {
    const auto found = counted_.rows().find(table);
    const uint64_t counted = found == counted_.rows().end() ? 0 : found->second;
    if (counted != rows) report(counted, "rows of " + table, rows);
  }
}

// Checks the block that was being written when its writer died or, in a live log, is being written.
absl::Status Check::CheckTornBlock(const TplogIndexReader::Record& record,
                                   const IndexDictionary& names) {
  const IndexBlock& block = record.block;
  scanner_.GoTo(block.offset);
  while (counted_.messages() < block.messages) {
    TS_ASSIGN_OR_RETURN(const std::optional<Bytes> body, scanner_.Next(report_.log_bytes));
    if (!body.has_value()) break;
    Count(*body, scanner_.offset() - body->size(), /*is_proven=*/false);
  }
  if (!IsTornPartOf(block, names, counted_)) {
    counted_.Clear();
    Report(
        Kind::kTornIndex, record.begin,
        fmt::format("{}: record at byte {} is of a block at byte {} that was never written: other "
                    "messages are there",
                    TplogIndexPath(log_.path()), record.begin, block.offset));
    return absl::OkStatus();
  }
  ended_ = true;
  if (block.source == kSourceUnknown) {
    report_.totals.feed_progress_known = false;
  } else if (block.source != kSourceNone) {
    TableRows& feed_rows = report_.totals.feed_rows[names.feeds.NameOf(block.source)];
    for (const auto& [table, rows] : counted_.rows()) feed_rows[table] += rows;
  }
  const uint64_t end = block.offset + counted_.bytes();
  report_.torn_bytes = report_.log_bytes > end ? report_.log_bytes - end : 0;
  Report(Kind::kTornLog, block.offset,
         fmt::format("{}: block at byte {} is torn: {} of {} bytes, {} of {} messages are whole",
                     log_.path(), block.offset,
                     report_.log_bytes - std::min(report_.log_bytes, block.offset), block.bytes,
                     counted_.messages(), block.messages));
  if (counted_.messages() != 0) TakeCounted(end);
  return absl::OkStatus();
}

// Checks the part that no index covers, by the grammar.
absl::Status Check::CheckTail() {
  scanner_.GoTo(report_.totals.log_bytes);
  while (!ended_) {
    TS_ASSIGN_OR_RETURN(const std::optional<Bytes> body, scanner_.Next(report_.log_bytes));
    if (body.has_value()) {
      Count(*body, scanner_.offset() - body->size(), /*is_proven=*/false);
      continue;
    }
    TakeCounted(scanner_.offset());
    if (scanner_.end() == TplogScanner::End::kClean) break;
    TS_RETURN_IF_ERROR(CheckDamage(scanner_.offset()));
  }
  if (report_.indexed && report_.totals.messages > report_.messages_indexed) {
    report_.totals.feed_progress_known = false;
  }
  return absl::OkStatus();
}

// The bytes at `offset` are no message: moves to the next message, if there is one.
absl::Status Check::CheckDamage(uint64_t offset) {
  TS_ASSIGN_OR_RETURN(const std::optional<uint64_t> next,
                      FindUpdAfter(log_, offset, report_.log_bytes));
  if (next.has_value()) {
    report_.damaged.push_back({offset, *next - offset});
    Report(Kind::kLogDamaged, offset,
           fmt::format("{}: message at byte {} is damaged: {} bytes on, whole ones follow",
                       log_.path(), offset, *next - offset));
    scanner_.GoTo(*next);
    return absl::OkStatus();
  }
  ended_ = true;
  report_.torn_bytes = report_.log_bytes - offset;
  Report(Kind::kTornLog, offset,
         fmt::format("{}: message at byte {} is torn: {} bytes of it", log_.path(), offset,
                     report_.torn_bytes));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TableRows> CountTplogRows(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const File log, File::OpenForReading(path));
  TS_RETURN_IF_ERROR(CheckTplogHeader(log));
  TS_ASSIGN_OR_RETURN(const uint64_t bytes, log.Bytes());
  TplogTotals totals;
  uint64_t end = kTplogHeaderBytes;
  absl::StatusOr<TplogIndexReader> index = TplogIndexReader::Open(TplogIndexPath(path));
  while (index.ok()) {
    const absl::StatusOr<std::optional<TplogIndexReader::Record>> record = index->Next();
    if (!record.ok() || !record->has_value()) break;
    if ((*record)->kind == RecordKind::kProgress) continue;
    AddBlock((*record)->block, index->names(), totals);
    end = (*record)->block.end_offset();
  }
  if (end == bytes) return std::move(totals.rows);
  TS_ASSIGN_OR_RETURN(TplogReport report, CheckTplog(path));
  return std::move(report.totals.rows);
}

absl::StatusOr<uint64_t> MessagesIndexed(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const bool has_index, FileExists(TplogIndexPath(path)));
  if (!has_index) return 0;
  TS_ASSIGN_OR_RETURN(TplogIndexReader index, TplogIndexReader::Open(TplogIndexPath(path)));
  uint64_t before_last = 0, messages = 0;
  while (true) {
    TS_ASSIGN_OR_RETURN(const std::optional<TplogIndexReader::Record> record, index.Next());
    if (!record.has_value()) break;
    if (record->kind == RecordKind::kProgress) continue;
    before_last = std::exchange(messages, record->block.end_seq());
  }
  const absl::StatusOr<TplogState> state = ReadTplogState(path);
  const bool is_whole = state.ok() && (state->ended || (!state->open && !state->boot.empty()));
  return is_whole ? messages : before_last;
}

bool TplogReport::Has(TplogProblem::Kind kind) const {
  return std::any_of(problems.begin(), problems.end(),
                     [kind](const TplogProblem& problem) { return problem.kind == kind; });
}

absl::StatusOr<TplogReport> CheckTplog(const std::string& path, bool find_odd_ranges) {
  TS_ASSIGN_OR_RETURN(File log, File::OpenForReading(path));
  Check check(std::move(log));
  TS_ASSIGN_OR_RETURN(TplogReport report, check.Run());
  if (!find_odd_ranges || report.odd.empty()) return report;
  TS_ASSIGN_OR_RETURN(File again, File::OpenForReading(path));
  TS_ASSIGN_OR_RETURN(TplogReport second, Check(std::move(again), &check.census()).Run());
  report.odd_ranges = std::move(second.odd_ranges);
  return report;
}

}  // namespace tickstack::tplog
