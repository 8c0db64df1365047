#include "feed/market/dbn/dbn_file.h"

#include "base/status.h"

namespace tickstack::feed::market {
namespace {

constexpr size_t kDbnWordBytes = 4;

}  // namespace

absl::StatusOr<std::unique_ptr<DbnFile>> DbnFile::Open(const std::string& path) {
  std::unique_ptr<DbnFile> file(new DbnFile(path));
  TS_RETURN_IF_ERROR(file->Rewind());
  return file;
}

absl::Status DbnFile::Rewind() {
  ahead_ = {};
  used_ = 0;
  record_ = {};
  number_ = 0;
  counts_ = {};
  TS_ASSIGN_OR_RETURN(bytes_, ByteStream::Open(path_));
  TS_ASSIGN_OR_RETURN(DbnMetadata metadata, ReadDbnMetadata(*bytes_));
  decoder_ = std::make_unique<DbnDecoder>(std::move(metadata));
  return absl::OkStatus();
}

absl::Status DbnFile::Fill(size_t bytes) {
  bytes_->Skip(std::exchange(used_, 0));
  ahead_ = {};
  TS_ASSIGN_OR_RETURN(ahead_, bytes_->Peek(bytes));
  return absl::OkStatus();
}

std::string DbnFile::TypeName(uint8_t type) const {
  const std::string_view name = DbnDecoder::TypeName(type);
  return name.empty() ? EventReader::TypeName(type) : std::string(name);
}

absl::StatusOr<bool> DbnFile::Advance() {
  used_ += record_.size();
  record_ = {};
  if (used_ == ahead_.size()) TS_RETURN_IF_ERROR(Fill(1));
  if (ahead_.empty()) return false;
  const size_t length = static_cast<size_t>(ahead_[used_]) * kDbnWordBytes;
  if (ahead_.size() - used_ < length) TS_RETURN_IF_ERROR(Fill(length));
  if (length == 0) {
    return DataLoss("{}: byte {}: record {} has length 0", path_, offset(), number_ + 1);
  }
  if (ahead_.size() - used_ < length) {
    return DataLoss("{}: byte {}: the file is cut off within record {}: found {} of {} bytes",
                    path_, offset(), number_ + 1, ahead_.size() - used_, length);
  }
  record_ = ahead_.subspan(used_, length);
  ++number_;
  return true;
}

absl::Status DbnFile::Decode(EventSink& sink) {
  const std::string_view why = decoder_->Decode(record_, number_, sink, counts_);
  if (!why.empty()) {
    counts_.AddProblem(fmt::format("{}: byte {}: record {} of type {:#04x} and {} bytes: {}", path_,
                                   offset(), number_, static_cast<unsigned>(record_[1]),
                                   record_.size(), why));
  }
  return absl::OkStatus();
}

}  // namespace tickstack::feed::market
