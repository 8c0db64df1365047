#include "tplog/tplog_scanner.h"

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"
#include "base/status.h"
#include "tplog/tplog_format.h"
#include "wire/codec.h"

namespace tickstack::tplog {
namespace {

constexpr uint64_t kScanWindowBytes = uint64_t{1} << 20;
constexpr size_t kListHeadBytes = 6;  // Type, attribute, count.

bool IsEmptyList(std::span<const std::byte> body) {
  return body.size() == kListHeadBytes && body[0] == std::byte{0};
}

}  // namespace

absl::Status CheckTplogHeader(const File& log) {
  std::byte header[kTplogHeaderBytes];
  TS_ASSIGN_OR_RETURN(const size_t got, log.ReadAt(0, header));
  // The attribute and the count may be anything: see tplog_format.h.
  if (got == kTplogHeaderBytes && std::equal(header, header + 3, kTplogHeader.begin())) {
    return absl::OkStatus();
  }
  if (got == kTplogHeaderBytes && AsText(header) == "kxzipped") {
    return InvalidArgument("{}: is a compressed file, expected a log as it was written",
                           log.path());
  }
  std::string found;
  for (size_t i = 0; i < got; ++i) found += fmt::format("{:02x}", static_cast<int>(header[i]));
  return InvalidArgument("{}: not a tickerplant log: begins with {}, expected ff0100", log.path(),
                         found.empty() ? "nothing" : found);
}

// Reads the log from offset_ on into the window: kScanWindowBytes, or twice the previous size, so
// that a message longer than the window is read twice in total. False if there is no more than
// before. Reads the previous part again, too: the tail of a live log may have been cut and
// rewritten.
absl::StatusOr<bool> TplogScanner::Grow(uint64_t log_bytes) {
  const uint64_t window_end = window_offset_ + window_.size();
  const uint64_t had = offset_ >= window_offset_ && offset_ < window_end ? window_end - offset_ : 0;
  const uint64_t available = log_bytes > offset_ ? log_bytes - offset_ : 0;
  const uint64_t bytes = std::min(available, std::max(kScanWindowBytes, 2 * had));
  window_.resize(bytes);
  window_offset_ = offset_;
  if (bytes <= had) return false;
  const absl::StatusOr<size_t> got = log_->ReadAt(offset_, window_.span());
  window_.resize(got.ok() ? *got : 0);
  TS_RETURN_IF_ERROR(got.status());
  return *got > had;
}

absl::StatusOr<std::optional<std::span<const std::byte>>> TplogScanner::Peek(uint64_t log_bytes) {
  while (true) {
    std::span<const std::byte> rest;
    if (offset_ >= window_offset_ && offset_ < window_offset_ + window_.size()) {
      rest = window_.span().subspan(offset_ - window_offset_);
    }
    if (!rest.empty()) {
      const absl::StatusOr<std::optional<size_t>> bytes = ValueBytes(rest);
      if (bytes.ok() && bytes->has_value() && !IsEmptyList(rest.first(**bytes))) {
        return rest.first(**bytes);
      }
      if (!bytes.ok() || bytes->has_value() || rest.size() > kTplogMessageBytesMax) {
        end_ = End::kInvalid;
        window_.clear();
        return std::nullopt;
      }
    }
    TS_ASSIGN_OR_RETURN(const bool grown, Grow(log_bytes));
    if (!grown) {
      end_ = window_.empty() ? End::kClean : End::kIncomplete;
      window_.clear();
      return std::nullopt;
    }
  }
}

absl::StatusOr<std::optional<std::span<const std::byte>>> TplogScanner::Next(uint64_t log_bytes) {
  TS_ASSIGN_OR_RETURN(const std::optional<std::span<const std::byte>> body, Peek(log_bytes));
  if (body.has_value()) Skip(body->size());
  return body;
}

namespace {

// Returns the bytes with which the log's first upd begins, up to and including its verb. If there
// is none before `end`, returns those of any upd whose verb is a symbol.
absl::StatusOr<std::string> UpdPrefix(const File& log, uint64_t end) {
  constexpr int kMessagesMax = 1'000;
  TplogScanner scanner(log, kTplogHeaderBytes);
  wire::UpdDecoder decoder;
  wire::UpdView upd;
  for (int i = 0; i < kMessagesMax; ++i) {
    TS_ASSIGN_OR_RETURN(const std::optional<std::span<const std::byte>> body, scanner.Next(end));
    if (!body.has_value()) break;
    if (!decoder.Decode(*body, &upd).ok() || upd.verb.empty()) continue;
    const std::string_view text = AsText(*body);
    const auto end_of_verb = static_cast<size_t>(upd.verb.data() - text.data()) + upd.verb.size();
    return std::string(text.substr(0, end_of_verb));
  }
  return std::string("\0\0\3\0\0\0\xf5", 7);
}

}  // namespace

absl::StatusOr<std::optional<uint64_t>> FindUpdAfter(const File& log, uint64_t offset,
                                                     uint64_t log_bytes) {
  TS_ASSIGN_OR_RETURN(const std::string prefix, UpdPrefix(log, offset));
  wire::UpdDecoder decoder;
  TplogScanner scanner(log, offset);
  ByteBuffer window;
  for (uint64_t begin = offset + 1; begin < log_bytes;) {
    window.resize(std::min(kScanWindowBytes, log_bytes - begin));
    TS_ASSIGN_OR_RETURN(const size_t got, log.ReadAt(begin, window.span()));
    const std::string_view text = AsText(window.span().first(got));
    for (size_t at = text.find(prefix); at != text.npos; at = text.find(prefix, at + 1)) {
      scanner.GoTo(begin + at);
      TS_ASSIGN_OR_RETURN(const std::optional<std::span<const std::byte>> body,
                          scanner.Peek(log_bytes));
      wire::UpdView upd;
      if (body.has_value() && decoder.Decode(*body, &upd).ok()) return begin + at;
    }
    if (got < prefix.size() || begin + got >= log_bytes) break;
    begin += got - (prefix.size() - 1);  // A prefix may extend across two windows.
  }
  return std::nullopt;
}

const wire::UpdView* BlockCounter::Add(std::span<const std::byte> body) {
  ++messages_;
  bytes_ += body.size();
  crc_ = ExtendCrc32c(crc_, body);
  if (!decoder_.Decode(body, &upd_).ok()) return nullptr;
  if (upd_.table.size() <= kIndexNameBytesMax) rows_[upd_.table] += upd_.batch.rows;
  return &upd_;
}

void BlockCounter::Clear() {
  messages_ = 0;
  bytes_ = 0;
  crc_ = 0;
  rows_.clear();
}

}  // namespace tickstack::tplog
