#include "tplog/tplog_writer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/byte_buffer.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "base/status.h"
#include "base/write_behind.h"
#include "tplog/tplog_index.h"
#include "tplog/tplog_recovery.h"

namespace tickstack::tplog {
namespace {

// Syncs the index first: if the power fails between the two, its last records are of messages that
// are not in the log, which Open can handle. A log longer than its index would have messages of
// unknown source.
absl::Status SyncBoth(File& index, File& log) {
  TS_RETURN_IF_ERROR(index.SyncData());
  return log.SyncData();
}

// Sizes of a log and its index, written by one thread and read by another.
class AtomicBytes {
 public:
  explicit AtomicBytes(const TplogState::Bytes& bytes) : log_(bytes.log), index_(bytes.index) {}
  void Set(const TplogState::Bytes& bytes) {
    log_.store(bytes.log, std::memory_order_relaxed);
    index_.store(bytes.index, std::memory_order_relaxed);
  }
  TplogState::Bytes Get() const {
    return {log_.load(std::memory_order_relaxed), index_.load(std::memory_order_relaxed)};
  }

 private:
  std::atomic<uint64_t> log_, index_;
};

// Syncs two files on a thread of its own, in every interval in which something was written.
class Syncer {
 public:
  // The files have `written` bytes now, of which `synced` are known to be on the disk.
  Syncer(File& index, File& log, const TplogState::Bytes& written, const TplogState::Bytes& synced,
         int interval_ms)
      : index_(index),
        log_(log),
        interval_(interval_ms),
        written_(written),
        synced_(synced),
        thread_([this] { Run(); }) {}

  ~Syncer() { Stop(); }

  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  // The files have grown to these sizes. The release pairs with the exchange in Run: a sync that
  // begins after it covers them.
  void NoteWrite(const TplogState::Bytes& written) {
    written_.Set(written);
    dirty_.store(true, std::memory_order_release);
  }
  TplogState::Bytes synced() const { return synced_.Get(); }

  // Waits until no sync is in flight, so that failed() tells the outcome of all earlier ones. None
  // begins while the caller has the lock.
  std::unique_lock<std::mutex> Hold() { return std::unique_lock(in_flight_); }

  // Pairs with the store in Run: a caller that sees true may read the status.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  const absl::Status& status() const { return status_; }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    while (!stop_ && !failed_.load(std::memory_order_relaxed)) {
      wake_.wait_for(lock, interval_, [this] { return stop_; });
      if (stop_ || !dirty_.exchange(false, std::memory_order_acquire)) continue;
      lock.unlock();
      SyncNow();
      lock.lock();
    }
  }

  void SyncNow() {
    const std::lock_guard in_flight(in_flight_);
    const TplogState::Bytes written = written_.Get();
    if (absl::Status status = SyncBoth(index_, log_); !status.ok()) {
      status_ = std::move(status);
      failed_.store(true, std::memory_order_release);
    } else {
      synced_.Set(written);
    }
  }

  File& index_;
  File& log_;
  const std::chrono::milliseconds interval_;
  AtomicBytes written_;
  AtomicBytes synced_;  // Set by the thread.
  std::atomic<bool> dirty_ = false;
  std::atomic<bool> failed_ = false;
  absl::Status status_;   // Written once, before failed_.
  std::mutex in_flight_;  // Held from before a sync until its outcome is known.
  std::mutex mutex_;      // Guards stop_.
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace

class TplogWriter::State {
 public:
  State(RecoveredTplog recovered, const TplogState::Bytes& synced, std::string path,
        const TplogOptions& options, std::unique_ptr<WriteBehind> behind)
      : log_(std::move(recovered.log)),
        index_(std::move(recovered.index)),
        index_bytes_(recovered.index_bytes),
        names_(std::move(recovered.names)),
        path_(std::move(path)),
        fsync_(options.fsync),
        totals_(std::move(recovered.totals)),
        recovery_(recovered.recovery),
        state_(std::move(recovered.state)),
        synced_(synced) {
    behind_ = std::move(behind);
    if (fsync_ == FsyncPolicy::kInterval) {
      syncer_.emplace(index_, log_, sizes(), synced_, options.fsync_interval_ms);
    }
  }

  absl::Status Append(const TplogBlock& block);
  absl::Status Sync();
  absl::Status Status() {
    NoteFailures();
    return closed_;
  }
  absl::Status Close(bool sync);
  absl::Status CloseAsConfigured() { return Close(fsync_ != FsyncPolicy::kNone); }
  absl::Status SetEnded(bool ended);
  TplogPlace End() const { return {totals_.log_bytes, totals_.messages, index_bytes_, names_}; }

  const std::string& path() const { return path_; }
  const TplogState& state() const { return state_; }
  const TplogTotals& totals() const { return totals_; }
  const TplogRecovery& recovery() const { return recovery_; }

 private:
  absl::Status Check(const TplogBlock& block) const;
  void MakeRecords(const TplogBlock& block);
  void UndoAppend();
  void CloseFor(const absl::Status& status);
  void CloseForSync(const absl::Status& status, const TplogState::Bytes& synced);
  void NoteFailures();
  TplogState::Bytes sizes() const { return {totals_.log_bytes, index_bytes_}; }
  TplogState::Bytes synced() const { return syncer_.has_value() ? syncer_->synced() : synced_; }

  File log_;
  File index_;
  uint64_t index_bytes_;
  IndexDictionary names_;
  const std::string path_;
  const FsyncPolicy fsync_;
  TplogTotals totals_;
  const TplogRecovery recovery_;
  TplogState state_;
  TplogState::Bytes synced_;  // By this thread, or when the log was opened.
  std::unique_ptr<WriteBehind> behind_;
  std::optional<Syncer> syncer_;
  absl::Status closed_;  // Why nothing can be appended any more.

  ByteBuffer records_;  // Scratch of Append, kept to reuse its memory.
  IndexBlock block_;
};

absl::Status TplogWriter::State::Check(const TplogBlock& block) const {
  uint64_t bytes = 0;
  for (const std::span<const std::byte> segment : block.segments) bytes += segment.size();
  if (block.messages == 0 || bytes < block.messages || bytes > UINT32_MAX) {
    return InvalidArgument("{}: a block of {} messages in {} bytes", path_, block.messages, bytes);
  }
  if (block.rows.size() > kBlockTablesMax) {
    return InvalidArgument("{}: a block with rows of {} tables, at most {}", path_,
                           block.rows.size(), kBlockTablesMax);
  }
  size_t name_bytes = block.feed.size();
  for (const TplogBlock::Rows& rows : block.rows) {
    name_bytes = std::max(name_bytes, rows.table.size());
  }
  if (name_bytes > kIndexNameBytesMax) {
    return InvalidArgument("{}: a name of {} bytes, at most {}", path_, name_bytes,
                           kIndexNameBytesMax);
  }
  return absl::OkStatus();
}

// Fills records_ and block_.
void TplogWriter::State::MakeRecords(const TplogBlock& block) {
  records_.clear();
  block_.offset = totals_.log_bytes;
  block_.first_seq = totals_.messages;
  block_.time_ns = block.time_ns;
  block_.messages = block.messages;
  block_.crc = 0;
  block_.bytes = 0;
  for (const std::span<const std::byte> segment : block.segments) {
    block_.crc = ExtendCrc32c(block_.crc, segment);
    block_.bytes += static_cast<uint32_t>(segment.size());
  }
  block_.source =
      block.feed.empty() ? kSourceNone : NumberOf(NameKind::kFeed, block.feed, names_, records_);
  block_.rows.clear();
  for (const TplogBlock::Rows& rows : block.rows) {
    block_.rows.push_back({NumberOf(NameKind::kTable, rows.table, names_, records_), rows.rows});
  }
  AppendBlockRecord(RecordKind::kBlock, block_, records_);
}

absl::Status TplogWriter::State::Append(const TplogBlock& block) {
  NoteFailures();
  TS_RETURN_IF_ERROR(closed_);
  TS_RETURN_IF_ERROR(Check(block));

  const uint32_t next_table = names_.tables.next_number();
  const uint32_t next_feed = names_.feeds.next_number();
  MakeRecords(block);
  absl::Status written = index_.WriteAt(index_bytes_, records_);
  if (written.ok()) written = log_.WriteAt(totals_.log_bytes, block.segments);
  if (!written.ok()) {
    names_.tables.DropFrom(next_table);
    names_.feeds.DropFrom(next_feed);
    UndoAppend();
    return written;
  }
  index_bytes_ += records_.size();
  AddBlock(block_, names_, totals_);
  behind_->OnGrown(totals_.log_bytes);

  if (syncer_.has_value()) syncer_->NoteWrite(sizes());
  return fsync_ == FsyncPolicy::kBatch ? Sync() : absl::OkStatus();
}

// Cuts off what a failed Append left: the log first, because the record must tell the source of
// bytes in the log.
void TplogWriter::State::UndoAppend() {
  absl::Status status = log_.Truncate(totals_.log_bytes);
  if (status.ok()) status = index_.Truncate(index_bytes_);
  if (!status.ok()) CloseFor(status);
}

void TplogWriter::State::CloseFor(const absl::Status& status) {
  // A different code from that of a full disk, after which callers try again: a closed log stays
  // closed.
  if (closed_.ok()) closed_ = FailedPrecondition("the log is closed: {}", Message(status));
}

void TplogWriter::State::CloseForSync(const absl::Status& status, const TplogState::Bytes& synced) {
  if (closed_.ok()) NoteFailedSync(path_, synced, state_);
  CloseFor(status);
}

void TplogWriter::State::NoteFailures() {
  if (syncer_.has_value() && syncer_->failed()) CloseForSync(syncer_->status(), synced());
  if (behind_ != nullptr && behind_->failed()) CloseForSync(behind_->status(), synced());
}

// The kernel reports an error once, to one of two syncs: after that, the other one may succeed
// although pages were lost.
absl::Status TplogWriter::State::Sync() {
  std::unique_lock<std::mutex> others;
  if (syncer_.has_value()) others = syncer_->Hold();
  NoteFailures();
  TS_RETURN_IF_ERROR(closed_);
  const TplogState::Bytes synced = this->synced();
  if (const absl::Status status = SyncBoth(index_, log_); !status.ok()) {
    CloseForSync(status, synced);
  } else {
    synced_ = sizes();
  }
  return closed_;
}

absl::Status TplogWriter::State::Close(bool sync) {
  if (!log_.is_open()) return absl::OkStatus();
  if (behind_ != nullptr) behind_->Stop();
  if (syncer_.has_value()) syncer_->Stop();
  NoteFailures();
  synced_ = synced();
  behind_.reset();
  syncer_.reset();
  absl::Status status = closed_;
  if (status.ok() && sync) {
    status = Sync();
    state_.open = !status.ok();
    if (status.ok()) status = WriteTplogState(path_, state_);
  }
  closed_ = FailedPrecondition("{}: the log is closed", path_);
  log_ = File();
  index_ = File();
  return status;
}

absl::Status TplogWriter::State::SetEnded(bool ended) {
  TplogState state = state_;
  state.ended = ended;
  TS_RETURN_IF_ERROR(WriteTplogState(path_, state));
  state_ = std::move(state);
  return absl::OkStatus();
}

TplogWriter::TplogWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
TplogWriter::~TplogWriter() { state_->CloseAsConfigured().IgnoreError(); }

absl::StatusOr<std::unique_ptr<TplogWriter>> TplogWriter::Open(std::string path,
                                                               TplogOptions options) {
  if (options.fsync == FsyncPolicy::kInterval && options.fsync_interval_ms <= 0) {
    return InvalidArgument("{}: fsync interval {} ms, expected a positive one", path,
                           options.fsync_interval_ms);
  }
  RecoverOptions recover;
  recover.carried_progress = std::move(options.carried_progress);
  recover.lock_wait = options.lock_wait;
  recover.boot = options.boot;
  recover.mount = options.mount;
  TS_ASSIGN_OR_RETURN(RecoveredTplog recovered, RecoverTplog(path, recover));
  if (options.repaired) TS_RETURN_IF_ERROR(options.repaired(recovered.recovery));
  // The last writer may have died before it synced what it wrote. From here on, that counts as
  // logged: feeds are told so.
  const bool was_open = recovered.state.open;
  recovered.state.open = true;
  recovered.state.boot = options.boot;
  recovered.state.mount = recovered.mount;
  TplogState::Bytes synced = {recovered.totals.log_bytes, recovered.index_bytes};
  if (was_open && options.fsync == FsyncPolicy::kNone) {
    synced = {};
  } else if (was_open) {
    const absl::Status status = SyncBoth(recovered.index, recovered.log);
    if (!status.ok()) NoteFailedSync(path, {}, recovered.state);
    TS_RETURN_IF_ERROR(status);
  }
  TS_RETURN_IF_ERROR(WriteTplogState(path, recovered.state));
  TS_ASSIGN_OR_RETURN(std::unique_ptr<WriteBehind> behind,
                      WriteBehind::Start(path, recovered.totals.log_bytes, options.cache_bytes));
  auto state = std::make_unique<State>(std::move(recovered), synced, std::move(path), options,
                                       std::move(behind));
  return std::unique_ptr<TplogWriter>(new TplogWriter(std::move(state)));
}

BlockPlace PlaceOf(const IndexBlock& block) {
  return {block.offset, block.first_seq, block.messages, block.bytes, block.crc};
}

absl::Status TplogWriter::Append(const TplogBlock& block) { return state_->Append(block); }
absl::Status TplogWriter::status() const { return state_->Status(); }
absl::Status TplogWriter::Sync() { return state_->Sync(); }
absl::Status TplogWriter::Close() { return state_->CloseAsConfigured(); }
absl::Status TplogWriter::CloseDurably() { return state_->Close(/*sync=*/true); }
TplogPlace TplogWriter::End() const { return state_->End(); }
const std::string& TplogWriter::path() const { return state_->path(); }
absl::Status TplogWriter::SetEnded(bool ended) { return state_->SetEnded(ended); }
const TplogState& TplogWriter::state() const { return state_->state(); }
const TplogTotals& TplogWriter::totals() const { return state_->totals(); }
const TplogRecovery& TplogWriter::recovery() const { return state_->recovery(); }

}  // namespace tickstack::tplog
