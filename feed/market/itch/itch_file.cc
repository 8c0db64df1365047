#include "feed/market/itch/itch_file.h"

#include <algorithm>

#include "base/status.h"
#include "feed/market/big_endian.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kItchLengthBytes = sizeof(uint16_t);

}  // namespace

absl::StatusOr<std::unique_ptr<ItchFile>> ItchFile::Open(const std::string& path,
                                                         int64_t midnight_ns) {
  std::unique_ptr<ItchFile> file(new ItchFile(path, midnight_ns));
  TS_RETURN_IF_ERROR(file->Rewind());
  return file;
}

absl::Status ItchFile::Rewind() {
  TS_ASSIGN_OR_RETURN(bytes_, ByteStream::Open(path_));
  decoder_.Reset();
  message_ = {};
  seq_ = 0;
  unread_ = 0;
  counts_ = {};
  return absl::OkStatus();
}

absl::StatusOr<bool> ItchFile::Advance() {
  bytes_->Skip(std::exchange(unread_, 0));
  TS_ASSIGN_OR_RETURN(std::span<const std::byte> next, bytes_->Peek(kItchLengthBytes));
  if (next.empty()) return false;
  if (next.size() < kItchLengthBytes) {
    return DataLoss("{}: byte {}: the file is cut off within the length of message {}", path_,
                    bytes_->offset(), seq_ + 1);
  }
  const size_t length = BigU16(next.data());
  if (length == 0) return EndSession();
  if (next.size() < kItchLengthBytes + length) {
    TS_ASSIGN_OR_RETURN(next, bytes_->Peek(kItchLengthBytes + length));
  }
  if (next.size() < kItchLengthBytes + length) {
    return DataLoss("{}: byte {}: the file is cut off within message {}: found {} of {} bytes",
                    path_, bytes_->offset(), seq_ + 1, next.size() - kItchLengthBytes, length);
  }
  message_ = next.subspan(kItchLengthBytes, length);
  unread_ = kItchLengthBytes + length;
  ++seq_;
  return true;
}

// Only padding may follow.
absl::StatusOr<bool> ItchFile::EndSession() {
  while (true) {
    TS_ASSIGN_OR_RETURN(const std::span<const std::byte> next, bytes_->Peek(1));
    if (next.empty()) return false;
    const auto other =
        std::ranges::find_if(next, [](std::byte each) { return each != std::byte{0}; });
    bytes_->Skip(static_cast<size_t>(other - next.begin()));
    if (other == next.end()) continue;
    return DataLoss(
        "{}: byte {}: expected the end of the file after the end of the session, found {:#04x}",
        path_, bytes_->offset(), static_cast<unsigned>(*other));
  }
}

int64_t ItchFile::time_ns() const {
  return message_.size() < ItchDecoder::kHeadBytes ? kNullLong : decoder_.TimeNs(message_);
}

absl::Status ItchFile::Decode(EventSink& sink) {
  EventHead head;
  head.seq = seq_;
  const std::string_view why = decoder_.Decode(message_, head, sink, counts_);
  if (!why.empty()) {
    counts_.AddProblem(fmt::format("{}: byte {}: message {} of type {:#04x} and {} bytes: {}",
                                   path_, bytes_->offset(), seq_,
                                   static_cast<unsigned>(message_[0]), message_.size(), why));
  }
  return absl::OkStatus();
}

}  // namespace tickstack::feed::market
