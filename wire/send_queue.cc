#include "wire/send_queue.h"

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <utility>

namespace tickstack::wire {
namespace {

// Smaller segments are copied: a piece and a reference cost more than the bytes, and a few bytes
// must not keep a whole block alive in a slow reader's queue.
constexpr size_t kCopyBelowBytes = 4096;
constexpr size_t kStagingBytes = size_t{64} << 10;
constexpr size_t kPieces = 256;  // Written in one call.
// Bytes of a stream that one call sends: enough to fill any socket's buffer.
constexpr size_t kPieceBytes = size_t{1} << 20;

}  // namespace

void SendQueue::CopyIntoStaging(std::span<const std::byte> bytes) {
  const bool fits = staging_ != nullptr && staging_->size() + bytes.size() <= staging_->capacity();
  if (!fits) {
    staging_ = std::make_shared<ByteBuffer>();
    staging_->reserve(std::max(kStagingBytes, bytes.size()));
  }
  const std::byte* at = staging_->data() + staging_->size();
  staging_->Append(bytes);
  if (fits && !queue_.empty() && queue_.back().segment.owner == staging_) {
    Segment& last = queue_.back().segment;
    last.bytes = {last.bytes.data(), last.bytes.size() + bytes.size()};
  } else {
    Push({{at, bytes.size()}, staging_});
  }
}

void SendQueue::Append(ByteBuffer message) {
  bytes_ += message.size();
  if (message.size() < kCopyBelowBytes) return CopyIntoStaging(message);
  auto kept = std::make_shared<ByteBuffer>(std::move(message));
  Push({kept->span(), kept});
}

void SendQueue::Append(std::span<const Segment> segments) {
  for (const Segment& segment : segments) {
    if (segment.bytes.empty()) continue;  // Alone in the queue, it would never be removed.
    bytes_ += segment.bytes.size();
    if (segment.bytes.size() < kCopyBelowBytes) {
      CopyIntoStaging(segment.bytes);
    } else {
      Push(segment);
    }
  }
}

void SendQueue::Append(std::unique_ptr<AnswerStream> stream) {
  queue_.push_back({{}, std::move(stream)});
}

// If a stream is first, takes its next bytes.
boost::system::error_code SendQueue::Unroll() {
  while (!queue_.empty() && queue_.front().stream != nullptr) {
    AnswerStream& stream = *queue_.front().stream;
    const AnswerStream::Piece piece = stream.Next(kPieceBytes);
    if (piece.bytes() == 0) {
      const AnswerStream::State state = stream.state();
      if (state == AnswerStream::State::kWaits) break;
      if (state == AnswerStream::State::kBroken) return boost::asio::error::connection_aborted;
      queue_.pop_front();
      continue;
    }
    // The stream stays behind these bytes, which it may own.
    if (!piece.raw.empty()) queue_.push_front({{piece.raw, piece.owner}, nullptr});
    if (!piece.gathered.empty()) queue_.push_front({{piece.gathered, nullptr}, nullptr});
    bytes_ += piece.bytes();
  }
  return {};
}

void SendQueue::Drop(size_t sent) {
  bytes_ -= sent;
  while (sent > 0) {
    Segment& front = queue_.front().segment;
    if (sent < front.bytes.size()) {
      front.bytes = front.bytes.subspan(sent);
      return;
    }
    sent -= front.bytes.size();
    queue_.pop_front();
  }
}

boost::system::error_code SendQueue::WriteTo(Transport& transport, uint64_t* sent_bytes) {
  const uint64_t turn_ends = *sent_bytes + kTurnBytes;
  while (true) {
    if (const boost::system::error_code broken = Unroll()) return broken;
    if (queue_.empty() || queue_.front().stream != nullptr) break;
    if (*sent_bytes >= turn_ends) return boost::asio::error::would_block;
    std::array<std::span<const std::byte>, kPieces> pieces;
    size_t count = 0;
    for (const Entry& entry : queue_) {
      if (count == kPieces || entry.stream != nullptr) break;
      pieces[count++] = entry.segment.bytes;
    }
    boost::system::error_code error;
    const size_t sent = transport.TryWrite(std::span(pieces).first(count), error);
    if (error) return error;
    *sent_bytes += sent;
    Drop(sent);
  }
  // All of it was sent: reuse it.
  if (staging_ != nullptr && staging_.use_count() == 1) staging_->clear();
  return {};
}

void SendQueue::Clear() {
  queue_.clear();
  bytes_ = 0;
}

}  // namespace tickstack::wire
