#include "tplog/tplog_reader.h"

#include <algorithm>
#include <utility>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/status.h"
#include "tplog/tplog_index.h"
#include "tplog/tplog_scanner.h"
#include "wire/codec.h"

namespace tickstack::tplog {
namespace {

constexpr uint64_t kReadWindowBytes = uint64_t{256} << 10;

}  // namespace

// The reading position is (offset_, seq_). Its bytes come from window_, which holds the verified
// block_, or, after the end of the index, from scanner_.
class TplogReader::State {
 public:
  State(std::shared_ptr<const File> log, std::optional<TplogIndexReader> index,
        TplogReaderOptions options)
      : log_(std::move(log)),
        index_(std::move(index)),
        options_(options),
        scanner_(*log_, kTplogHeaderBytes) {}

  void StartAt(uint64_t offset, uint64_t seq) {
    offset_ = offset;
    seq_ = seq;
  }
  void ReleaseMemory(size_t bytes_max);

  absl::StatusOr<std::optional<TplogMessage>> Peek();
  void Take(const TplogMessage& message) {
    offset_ += message.body.size();
    seq_ += 1;
  }
  absl::Status Seek(uint64_t seq);
  absl::StatusOr<ByteBuffer> ReadRange(uint64_t from_seq, uint64_t end_seq, uint64_t bytes_max);

  uint64_t seq() const { return seq_; }
  uint64_t offset() const { return offset_; }
  uint64_t torn_bytes() const { return torn_bytes_; }
  bool is_proven() const {
    return options_.verify && block_.bytes != 0 && block_.source != kSourceUnknown &&
           offset_ > block_.offset && offset_ <= block_.end_offset();
  }
  bool indexed() const { return index_.has_value(); }
  int64_t time_ns() const { return block_.bytes != 0 ? block_.time_ns : kNullLong; }

 private:
  using Bytes = std::span<const std::byte>;
  enum class Found { kBlock, kNotYet, kNotIndexed };

  bool InBlock() const { return offset_ >= block_.offset && offset_ < block_.end_offset(); }
  bool HasBlockInWindow() const {
    return block_.offset >= window_offset_ &&
           block_.end_offset() <= window_offset_ + window_.size();
  }
  // Returns the rest of block_ from an offset in the log; less if the window does not have it all.
  Bytes BlockFrom(uint64_t offset) const {
    const uint64_t end = std::min(block_.end_offset(), window_offset_ + window_.size());
    return window_.span().subspan(offset - window_offset_, end - offset);
  }
  absl::StatusOr<TplogMessage> PeekInBlock() const;
  absl::StatusOr<Found> NextBlock();
  absl::StatusOr<Found> FindBlock();
  absl::StatusOr<bool> LoadBlock();
  absl::Status UpdateLogBytes();
  absl::Status LoadAgain();
  absl::Status EnterBlock();
  absl::StatusOr<std::optional<TplogMessage>> PeekUnindexed();
  absl::Status CheckPlace() const;
  absl::Status SkipBlocks(uint64_t seq);
  absl::Status Damaged(uint64_t offset, std::string_view found) const;
  absl::Status RefuseIfMore();

  const std::shared_ptr<const File> log_;
  std::optional<TplogIndexReader> index_;
  const TplogReaderOptions options_;
  TplogScanner scanner_;

  uint64_t offset_ = kTplogHeaderBytes;
  uint64_t seq_ = 0;
  uint64_t torn_bytes_ = 0;
  uint64_t log_bytes_ = 0;  // At the last look.
  bool unindexed_ = false;  // True if up to log_bytes_ no block held what was after offset_.
  // The last offset at which no message begins, and the log's size up to which none followed it.
  uint64_t torn_offset_ = 0;
  uint64_t torn_log_bytes_ = 0;

  IndexBlock block_;   // Empty if there is none.
  ByteBuffer window_;  // Holds block_ and what follows it.
  uint64_t window_offset_ = 0;
  uint32_t found_crc_ = 0;
};

absl::Status TplogReader::State::Damaged(uint64_t offset, std::string_view found) const {
  return DataLoss("{}: block at byte {}: {}", log_->path(), offset, found);
}

absl::StatusOr<TplogMessage> TplogReader::State::PeekInBlock() const {
  const Bytes rest = BlockFrom(offset_);
  const absl::StatusOr<std::optional<size_t>> bytes = ValueBytes(rest);
  if (!bytes.ok() || !bytes->has_value()) {
    return Damaged(block_.offset, fmt::format("message at byte {} is not whole in it", offset_));
  }
  return TplogMessage{seq_, offset_, rest.first(**bytes)};
}

// Checks that the block that was just left, or entered, agrees with the position.
absl::Status TplogReader::State::CheckPlace() const {
  if (offset_ == block_.offset && seq_ != block_.first_seq) {
    return Damaged(block_.offset, fmt::format("its first message is number {}, its index says {}",
                                              seq_, block_.first_seq));
  }
  if (offset_ == block_.end_offset() && seq_ != block_.end_seq()) {
    return Damaged(block_.offset, fmt::format("has {} messages, its index says {}",
                                              seq_ - block_.first_seq, block_.messages));
  }
  return absl::OkStatus();
}

// Brings block_'s bytes into the window, and some of what follows, so that small blocks do not cost
// a system call each. False if they differ from what the index says.
absl::StatusOr<bool> TplogReader::State::LoadBlock() {
  if (!HasBlockInWindow()) {
    window_.clear();
    window_.resize(
        std::min(std::max<uint64_t>(block_.bytes, kReadWindowBytes), log_bytes_ - block_.offset));
    window_offset_ = block_.offset;
    const absl::StatusOr<size_t> got = log_->ReadAt(block_.offset, window_.span());
    window_.resize(got.ok() ? *got : 0);
    TS_RETURN_IF_ERROR(got.status());
    if (*got < block_.bytes) return false;
  }
  return !options_.verify || Crc32c(BlockFrom(block_.offset)) == block_.crc;
}

// Brings back the block that ReleaseMemory has dropped.
absl::Status TplogReader::State::LoadAgain() {
  TS_ASSIGN_OR_RETURN(const bool loaded, LoadBlock());
  return loaded ? absl::OkStatus() : Damaged(block_.offset, "differs from what was read before");
}

// Moves the index to the block that holds offset_.
absl::StatusOr<TplogReader::State::Found> TplogReader::State::FindBlock() {
  if (!index_.has_value()) return Found::kNotIndexed;
  while (true) {
    TS_ASSIGN_OR_RETURN(std::optional<TplogIndexReader::Record> record, index_->Next());
    if (!record.has_value()) return Found::kNotIndexed;
    if (record->kind == RecordKind::kProgress || record->block.end_offset() <= offset_) continue;
    if (record->block.end_offset() > log_bytes_) {
      index_->Unread();
      return Found::kNotYet;
    }
    block_ = std::move(record->block);
    return Found::kBlock;
  }
}

// Moves to the block that holds offset_, and reads and checks it.
absl::StatusOr<TplogReader::State::Found> TplogReader::State::NextBlock() {
  block_ = IndexBlock();
  // Tries twice: the writer may have replaced the block between the look at the index and the look
  // at the log.
  bool look = log_bytes_ <= offset_;
  for (int mismatches = 0; mismatches < 2;) {
    // The log's size is read before the index. A writer puts the record first, so everything in the
    // log by then is in the index, unless another program appended it. The size of the last look is
    // sufficient as long as it leads to a block.
    if (look) {
      TS_RETURN_IF_ERROR(UpdateLogBytes());
      if (log_bytes_ == offset_) return Found::kNotYet;
    }
    TS_ASSIGN_OR_RETURN(const Found found, FindBlock());
    if (found != Found::kBlock) {
      if (look) return found;
      look = true;
      continue;
    }
    TS_ASSIGN_OR_RETURN(const bool loaded, LoadBlock());
    if (loaded) return Found::kBlock;
    index_->Unread();
    found_crc_ = Crc32c(BlockFrom(block_.offset));
    window_.clear();
    look = true;
    ++mismatches;
  }
  const IndexBlock damaged = std::exchange(block_, IndexBlock());
  return Damaged(damaged.offset, fmt::format("checksum {:08x} over {} bytes, its index says {:08x}",
                                             found_crc_, damaged.bytes, damaged.crc));
}

absl::Status TplogReader::State::UpdateLogBytes() {
  TS_ASSIGN_OR_RETURN(log_bytes_, log_->Bytes());
  if (log_bytes_ >= offset_) return absl::OkStatus();
  return DataLoss("{}: has {} bytes, and had {} before", log_->path(), log_bytes_, offset_);
}

// Enters a block in the middle, if it was indexed after its first messages had been read.
absl::Status TplogReader::State::EnterBlock() {
  for (const uint64_t to = std::exchange(offset_, block_.offset); offset_ != to;) {
    TS_ASSIGN_OR_RETURN(const TplogMessage message, PeekInBlock());
    offset_ += message.body.size();
    if (offset_ > to) {
      return Damaged(block_.offset, fmt::format("no message begins at byte {}", to));
    }
  }
  return CheckPlace();
}

absl::StatusOr<std::optional<TplogMessage>> TplogReader::State::PeekUnindexed() {
  if (scanner_.offset() != offset_) scanner_.GoTo(offset_);
  TS_ASSIGN_OR_RETURN(const std::optional<Bytes> body, scanner_.Peek(log_bytes_));
  if (!body.has_value()) return std::nullopt;
  return TplogMessage{seq_, offset_, *body};
}

// Returns an error if messages follow the bytes at offset_, which are none: a torn tail is the end
// of the log, and damage is not.
absl::Status TplogReader::State::RefuseIfMore() {
  if (offset_ == log_bytes_) return absl::OkStatus();
  if (torn_offset_ == offset_ && torn_log_bytes_ == log_bytes_) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const std::optional<uint64_t> next, FindUpdAfter(*log_, offset_, log_bytes_));
  if (next.has_value()) {
    return DataLoss(
        "{}: message {} at byte {} is damaged: whole ones follow from byte {}; `tickstack log "
        "check` lists all damage, `tickstack log repair --skip-damaged` copies the rest",
        log_->path(), seq_, offset_, *next);
  }
  torn_offset_ = offset_;
  torn_log_bytes_ = log_bytes_;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<TplogMessage>> TplogReader::State::Peek() {
  torn_bytes_ = 0;
  if (InBlock()) {
    if (!HasBlockInWindow()) TS_RETURN_IF_ERROR(LoadAgain());
    return PeekInBlock();
  }
  if (block_.bytes != 0) TS_RETURN_IF_ERROR(CheckPlace());
  if (unindexed_ && offset_ < log_bytes_) {  // Known from the last look, without a system call.
    TS_ASSIGN_OR_RETURN(const std::optional<TplogMessage> message, PeekUnindexed());
    if (message.has_value()) return message;
  }
  TS_ASSIGN_OR_RETURN(const Found found, NextBlock());
  unindexed_ = found == Found::kNotIndexed;
  if (found == Found::kBlock) {
    TS_RETURN_IF_ERROR(EnterBlock());
    return PeekInBlock();
  }
  if (found == Found::kNotIndexed) {
    TS_ASSIGN_OR_RETURN(const std::optional<TplogMessage> message, PeekUnindexed());
    if (message.has_value()) return message;
    TS_RETURN_IF_ERROR(RefuseIfMore());
  }
  torn_bytes_ = log_bytes_ - offset_;
  return std::nullopt;
}

// Skips whole blocks that end at or before message `seq`.
absl::Status TplogReader::State::SkipBlocks(uint64_t seq) {
  if (!index_.has_value() || (InBlock() && seq < block_.end_seq())) return absl::OkStatus();
  if (InBlock()) {
    offset_ = block_.end_offset();
    seq_ = block_.end_seq();
  }
  TS_ASSIGN_OR_RETURN(const uint64_t log_bytes, log_->Bytes());
  while (true) {
    TS_ASSIGN_OR_RETURN(const std::optional<TplogIndexReader::Record> record, index_->Next());
    if (!record.has_value()) return absl::OkStatus();
    if (record->kind == RecordKind::kProgress) continue;
    if (record->block.end_seq() > seq || record->block.end_offset() > log_bytes) {
      index_->Unread();
      return absl::OkStatus();
    }
    if (record->block.end_offset() <= offset_) continue;
    offset_ = record->block.end_offset();
    seq_ = record->block.end_seq();
  }
}

absl::Status TplogReader::State::Seek(uint64_t seq) {
  if (seq < seq_) {
    offset_ = kTplogHeaderBytes;
    seq_ = 0;
    block_ = IndexBlock();
    unindexed_ = false;
    if (index_.has_value()) index_->Rewind();
  }
  TS_RETURN_IF_ERROR(SkipBlocks(seq));
  while (seq_ < seq) {
    TS_ASSIGN_OR_RETURN(const std::optional<TplogMessage> message, Peek());
    if (!message.has_value()) {
      return NotFound("{}: message {}: the log has {}", log_->path(), seq, seq_);
    }
    Take(*message);
  }
  return absl::OkStatus();
}

absl::StatusOr<ByteBuffer> TplogReader::State::ReadRange(uint64_t from_seq, uint64_t end_seq,
                                                         uint64_t bytes_max) {
  ByteBuffer out;
  if (from_seq >= end_seq) return out;
  TS_RETURN_IF_ERROR(Seek(from_seq));
  while (seq_ < end_seq) {
    TS_ASSIGN_OR_RETURN(const std::optional<TplogMessage> message, Peek());
    if (!message.has_value()) break;
    if (!out.empty() && out.size() + message->body.size() > bytes_max) break;
    out.Append(message->body);
    Take(*message);
  }
  return out;
}

void TplogReader::State::ReleaseMemory(size_t bytes_max) {
  if (window_.capacity() > bytes_max) window_ = ByteBuffer();
  if (index_.has_value() && bytes_max == 0) index_->ReleaseMemory();
}

TplogReader::TplogReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
TplogReader::~TplogReader() = default;

absl::StatusOr<std::unique_ptr<TplogReader>> TplogReader::Open(std::string path,
                                                               TplogReaderOptions options) {
  TS_ASSIGN_OR_RETURN(File log, File::OpenForReading(path));
  TS_RETURN_IF_ERROR(CheckTplogHeader(log));
  std::optional<TplogIndexReader> index;
  TS_ASSIGN_OR_RETURN(const bool has_index, FileExists(TplogIndexPath(path)));
  if (options.use_index && has_index) {
    TS_ASSIGN_OR_RETURN(index, TplogIndexReader::Open(TplogIndexPath(path)));
  }
  auto state = std::make_unique<State>(std::make_shared<const File>(std::move(log)),
                                       std::move(index), options);
  return std::unique_ptr<TplogReader>(new TplogReader(std::move(state)));
}

std::unique_ptr<TplogReader> TplogReader::OpenAt(const TplogFiles& files, TplogPlace place) {
  auto state = std::make_unique<State>(
      files.log,
      TplogIndexReader::OpenAt(files.index, place.index_offset, place.offset, place.seq,
                               std::move(place.names)),
      TplogReaderOptions());
  state->StartAt(place.offset, place.seq);
  return std::unique_ptr<TplogReader>(new TplogReader(std::move(state)));
}

absl::StatusOr<TplogFiles> TplogFiles::Open(const std::string& log_path) {
  TS_ASSIGN_OR_RETURN(File log, File::OpenForReading(log_path));
  TS_ASSIGN_OR_RETURN(File index, File::OpenForReading(TplogIndexPath(log_path)));
  return TplogFiles{std::make_shared<const File>(std::move(log)),
                    std::make_shared<const File>(std::move(index))};
}

absl::StatusOr<std::optional<TplogMessage>> TplogReader::Next() {
  TS_ASSIGN_OR_RETURN(const std::optional<TplogMessage> message, state_->Peek());
  if (message.has_value()) state_->Take(*message);
  return message;
}

absl::Status TplogReader::Seek(uint64_t seq) { return state_->Seek(seq); }

absl::StatusOr<ByteBuffer> TplogReader::ReadRange(uint64_t from_seq, uint64_t end_seq,
                                                  uint64_t bytes_max) {
  return state_->ReadRange(from_seq, end_seq, bytes_max);
}

void TplogReader::ReleaseMemory(size_t bytes_max) { state_->ReleaseMemory(bytes_max); }
int64_t TplogReader::time_ns() const { return state_->time_ns(); }
uint64_t TplogReader::next_seq() const { return state_->seq(); }
uint64_t TplogReader::offset() const { return state_->offset(); }
bool TplogReader::is_proven() const { return state_->is_proven(); }
uint64_t TplogReader::torn_bytes() const { return state_->torn_bytes(); }
bool TplogReader::indexed() const { return state_->indexed(); }

}  // namespace tickstack::tplog
