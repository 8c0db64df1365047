#include "feed/market/line_reader.h"

#include <algorithm>

#include "base/status.h"

namespace tickstack::feed::market {

namespace {

// A line is searched for its end in pieces of some such size.
constexpr size_t kPieceBytes = size_t{256} << 10;

std::string_view TextView(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

absl::StatusOr<std::unique_ptr<LineReader>> LineReader::Open(const std::string& path,
                                                             size_t line_bytes_max) {
  TS_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> bytes, ByteStream::Open(path));
  return std::unique_ptr<LineReader>(new LineReader(std::move(bytes), line_bytes_max));
}

absl::StatusOr<std::optional<TextLine>> LineReader::Next() {
  bytes_->Skip(std::exchange(unread_, 0));
  begin_ = bytes_->offset();
  pieces_.clear();
  size_t searched = 0;
  while (true) {
    TS_ASSIGN_OR_RETURN(const std::span<const std::byte> next, bytes_->Peek(searched + 1));
    const std::string_view text = TextView(next);
    const size_t end = text.find('\n', searched);
    if (pieces_.size() + std::min(end, text.size()) > line_bytes_max_) {
      return DataLoss("{}: byte {}: line {} has more than {} bytes", path(), begin_, number_ + 1,
                      line_bytes_max_);
    }
    if (end != std::string_view::npos) return Take(text.substr(0, end), /*has_end=*/true);
    if (text.size() == searched) {
      if (text.empty() && pieces_.empty()) return std::nullopt;
      return Take(text, /*has_end=*/false);
    }
    searched = text.size();
    if (searched >= kPieceBytes) {
      pieces_ += text;
      bytes_->Skip(std::exchange(searched, 0));
    }
  }
}

TextLine LineReader::Take(std::string_view text, bool has_end) {
  unread_ = text.size() + (has_end ? 1 : 0);
  if (!pieces_.empty()) {
    pieces_ += text;
    text = pieces_;
  }
  if (text.ends_with('\r')) text.remove_suffix(1);
  return {text, ++number_, begin_, has_end};
}

}  // namespace tickstack::feed::market
