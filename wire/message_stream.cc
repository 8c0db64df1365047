#include "wire/message_stream.h"

#include <algorithm>
#include <utility>

#include "table/value_parts.h"

namespace tickstack::wire {
namespace {

// Shorter vectors are copied: a separate span in a system call costs more than copying the bytes.
constexpr size_t kStreamCopyBelowBytes = 4096;
constexpr size_t kGatherBytes = size_t{32} << 10;

}  // namespace

MessageStream::MessageStream(MessageKind kind, std::shared_ptr<const Value> value,
                             size_t body_bytes)
    : value_(std::move(value)), total_bytes_(kHeaderBytes + body_bytes) {
  WriteHeader(gathered_.Extend(kHeaderBytes), kind, total_bytes_);
  Enter(*value_);
}

void MessageStream::Enter(const Value& value) {
  const ValueParts parts = PartsOf(value);
  gathered_.Append(parts.head_span());
  if (parts.raw.size() < kStreamCopyBelowBytes) {
    gathered_.Append(parts.raw);
    if (parts.ends_with_nul) gathered_.AppendLittle(char{0});
  } else {
    raw_ = parts.raw;
    nul_follows_ = parts.ends_with_nul;
  }
  if (parts.children > 0) open_.push_back({&value, parts.children, 0});
}

// Continues after the raw bytes, all of which were sent, up to the next ones.
void MessageStream::Gather() {
  gathered_.clear();
  gathered_sent_ = 0;
  if (std::exchange(nul_follows_, false)) gathered_.AppendLittle(char{0});
  while (raw_.empty() && gathered_.size() < kGatherBytes && !open_.empty()) {
    Frame& frame = open_.back();
    if (frame.next == frame.children) {
      open_.pop_back();
    } else {
      Enter(ChildOf(*frame.value, frame.next++));
    }
  }
}

MessageStream::Piece MessageStream::Next(size_t bytes_max) {
  if (gathered_sent_ == gathered_.size() && raw_.empty()) Gather();
  Piece piece;
  const std::span<const std::byte> gathered = gathered_.span().subspan(gathered_sent_);
  piece.gathered = gathered.first(std::min(bytes_max, gathered.size()));
  gathered_sent_ += piece.gathered.size();
  if (piece.gathered.size() == gathered.size()) {
    piece.raw = raw_.first(std::min(bytes_max - gathered.size(), raw_.size()));
    raw_ = raw_.subspan(piece.raw.size());
  }
  return piece;
}

}  // namespace tickstack::wire
