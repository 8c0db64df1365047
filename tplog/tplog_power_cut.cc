#include "tplog/tplog_power_cut.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/byte_buffer.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "table/types.h"
#include "tplog/tplog_index.h"

namespace tickstack::tplog {
namespace {

constexpr uint64_t kWindowBytes = uint64_t{4} << 20;
constexpr uint64_t kPageBytes = 4096;  // What the kernel writes to the disk, or does not.
constexpr uint64_t kZerosMin = 8;      // At the end of a page: records seldom have as many.

// True if the end of a page lies in these bytes of a file, which begin at `offset`, and the page's
// last bytes are zeros: it was not written since they were appended.
bool LacksAPage(std::span<const std::byte> bytes, uint64_t offset) {
  for (uint64_t end = (offset / kPageBytes + 1) * kPageBytes; end <= offset + bytes.size();
       end += kPageBytes) {
    const uint64_t zeros = std::min(kZerosMin, end - offset);
    const std::span<const std::byte> last = bytes.subspan(end - offset - zeros, zeros);
    if (std::ranges::all_of(last, [](std::byte b) { return b == std::byte{0}; })) return true;
  }
  return false;
}

class Search {
 public:
  Search(const File& log, TplogIndexReader index, uint64_t log_bytes,
         const TplogState::Bytes& synced)
      : log_(log), index_(std::move(index)), log_bytes_(log_bytes), synced_(synced) {}

  absl::StatusOr<LostTail> Run() {
    while (true) {
      const absl::StatusOr<std::optional<TplogIndexReader::Record>> record = index_.Next();
      if (!record.ok()) {
        if (!absl::IsDataLoss(record.status())) return record.status();
        TS_RETURN_IF_ERROR(CheckRestOfIndex(record.status()));
        break;
      }
      if (!record->has_value()) break;
      if ((*record)->kind == RecordKind::kProgress) {
        Keep((*record)->end);
      } else {
        TS_RETURN_IF_ERROR(TakeBlock(**record));
      }
    }
    return Cut();
  }

 private:
  // The first block that differs in the log, and what is kept if the log is cut at it.
  struct Bad {
    LostTail before;
    int64_t time_ns;
    uint64_t messages;
    bool is_whole;  // All of its bytes exist, but differ.
  };

  void Keep(uint64_t index_bytes) { at_.index_bytes = index_bytes; }

  absl::Status TakeBlock(const TplogIndexReader::Record& record) {
    const IndexBlock& block = record.block;
    const LostTail before = at_;
    if (block.time_ns != kNullLong) newest_ns_ = std::max(newest_ns_, block.time_ns);
    Keep(record.end);
    at_.log_bytes = block.end_offset();
    at_.messages = block.end_seq();
    if (block.bytes == 0) return absl::OkStatus();  // It was cut to nothing earlier.
    const bool is_whole = block.end_offset() <= log_bytes_;
    if (is_whole) {
      TS_ASSIGN_OR_RETURN(const bool matches, Matches(block));
      if (matches) return absl::OkStatus();
    }
    bad_.push_back({before, block.time_ns, block.messages, is_whole});
    return absl::OkStatus();
  }

  absl::StatusOr<bool> Matches(const IndexBlock& block) {
    if (block.offset < window_offset_ || block.end_offset() > window_offset_ + window_.size()) {
      window_.resize(
          std::min(std::max<uint64_t>(block.bytes, kWindowBytes), log_bytes_ - block.offset));
      TS_ASSIGN_OR_RETURN(const size_t got, log_.ReadAt(block.offset, window_.span()));
      window_.resize(got);
      window_offset_ = block.offset;
      if (got < block.bytes) return false;
    }
    return Crc32c(window_.span().subspan(block.offset - window_offset_, block.bytes)) == block.crc;
  }

  // The index does not continue as it should. Returns `why`, unless everything that follows is
  // young enough to be lost in a power cut. The first illegible record has no time: it is as old as
  // the one before it, or if pages were lost, and so a record's bytes are not damaged but missing,
  // as young as the next legible one. After a quiet night the two differ by hours.
  absl::Status CheckRestOfIndex(const absl::Status& why) {
    TS_ASSIGN_OR_RETURN(const uint64_t bytes, index_.file().Bytes());
    ByteBuffer rest;
    rest.resize(bytes - std::min(bytes, index_.position()));
    TS_ASSIGN_OR_RETURN(const size_t got, index_.file().ReadAt(index_.position(), rest.span()));
    rest.resize(got);
    int64_t found_ns = newest_ns_;
    bool is_first = true;
    for (size_t at = 0; at + kBlockFixedBytes <= got;) {
      const std::optional<IndexBlock> block = PeekIndexBlock(rest.span().subspan(at));
      if (!block) {
        ++at;
        continue;
      }
      if (std::exchange(is_first, false) && block->time_ns != kNullLong &&
          LacksAPage(rest.span().first(at), index_.position())) {
        found_ns = block->time_ns;
      }
      if (block->time_ns != kNullLong) newest_ns_ = std::max(newest_ns_, block->time_ns);
      at_.messages_lost += block->messages;
      at += kBlockFixedBytes + block->rows.size() * kBlockTableBytes;
    }
    if (index_.position() < synced_.index) return why;
    const bool is_old = found_ns != kNullLong && newest_ns_ - found_ns > kLostNs;
    return is_old ? why : absl::OkStatus();
  }

  LostTail Cut() const {
    const auto first = std::find_if(bad_.begin(), bad_.end(), [this](const Bad& bad) {
      const bool is_young = bad.time_ns != kNullLong && newest_ns_ - bad.time_ns <= kLostNs;
      return !bad.is_whole || (is_young && bad.before.log_bytes >= synced_.log);
    });
    LostTail tail = first == bad_.end() ? at_ : first->before;
    tail.messages_lost = at_.messages_lost + (at_.messages - tail.messages);
    for (auto old = bad_.begin(); old != first; ++old) tail.messages_damaged += old->messages;
    return tail;
  }

  const File& log_;
  TplogIndexReader index_;
  const uint64_t log_bytes_;
  const TplogState::Bytes synced_;
  LostTail at_{.log_bytes = kTplogHeaderBytes, .index_bytes = kIndexHeaderBytes};
  std::vector<Bad> bad_;
  int64_t newest_ns_ = kNullLong;
  ByteBuffer window_;
  uint64_t window_offset_ = 0;
};

}  // namespace

absl::StatusOr<LostTail> FindLostTail(const File& log, const std::string& index_path,
                                      const TplogState::Bytes& synced) {
  TS_ASSIGN_OR_RETURN(const uint64_t log_bytes, log.Bytes());
  TS_ASSIGN_OR_RETURN(TplogIndexReader index, TplogIndexReader::Open(index_path));
  return Search(log, std::move(index), log_bytes, synced).Run();
}

}  // namespace tickstack::tplog
