#include "feed/market/websocket/websocket_recording.h"

#include <algorithm>

#include "base/status.h"

namespace tickstack::feed::market {
namespace {

// Whether a type of a message can be part of a name that is shown.
bool IsTypeName(std::string_view type) {
  constexpr size_t kTypeBytesMax = 32;
  return !type.empty() && type.size() <= kTypeBytesMax &&
         std::ranges::all_of(type, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

absl::StatusOr<std::unique_ptr<WebsocketRecording>> WebsocketRecording::Open(
    std::vector<std::string> paths, std::string venue) {
  if (paths.size() > kFilesMax) {
    return InvalidArgument("{} files: expected at most {}", paths.size(), kFilesMax);
  }
  std::unique_ptr<WebsocketRecording> recording(
      new WebsocketRecording(std::move(paths), std::move(venue)));
  TS_RETURN_IF_ERROR(recording->Rewind());
  return recording;
}

absl::Status WebsocketRecording::Rewind() {
  counts_ = {};
  TS_ASSIGN_OR_RETURN(decoder_, MakeVenueDecoder(venue_, counts_));
  files_.clear();
  for (const std::string& path : paths_) {
    TS_ASSIGN_OR_RETURN(std::unique_ptr<RecordingFile> file, RecordingFile::Open(path));
    files_.push_back(std::move(file));
  }
  has_begun_ = ended_ = false;
  recv_ns_ = kNullLong;
  messages_ = 0;
  return absl::OkStatus();
}

absl::Status WebsocketRecording::AdvanceFile(size_t file) {
  TS_ASSIGN_OR_RETURN(const bool more, files_[file]->Advance());
  if (!more) files_[file].reset();
  return absl::OkStatus();
}

absl::StatusOr<bool> WebsocketRecording::Advance() {
  if (ended_) return false;
  if (has_begun_) {
    TS_RETURN_IF_ERROR(AdvanceFile(chosen_));
  } else {
    for (size_t file = 0; file < files_.size(); ++file) TS_RETURN_IF_ERROR(AdvanceFile(file));
  }
  ChooseFile();
  has_begun_ = true;
  if (files_[chosen_] == nullptr) {
    ended_ = true;
    return true;
  }
  const int64_t recv_ns = files_[chosen_]->record().recv_ns;
  if (recv_ns != kNullLong) recv_ns_ = recv_ns;
  return true;
}

void WebsocketRecording::ChooseFile() {
  const auto order = [](const std::unique_ptr<RecordingFile>& file) {
    // A line that is no record, and the first of its file, has no time: kNullLong is the smallest.
    return file == nullptr ? kInfinityLong : file->record().recv_ns;
  };
  chosen_ = static_cast<size_t>(std::ranges::min_element(files_, {}, order) - files_.begin());
}

absl::Status WebsocketRecording::Decode(EventSink& sink) {
  if (ended_) {
    decoder_->End(recv_ns_, sink);
    return absl::OkStatus();
  }
  const RecordingFile& file = *files_[chosen_];
  if (!file.why().empty()) return Problem(file, "line", file.why());
  const Record& record = file.record();
  if (record.kind == Record::Kind::kConnected) {
    counts_.AddNamed("connections");
    decoder_->Connect(record.connection, record.recv_ns, sink);
    return absl::OkStatus();
  }
  return DecodeText(file, sink);
}

absl::Status WebsocketRecording::DecodeText(const RecordingFile& file, EventSink& sink) {
  const Record& record = file.record();
  ++messages_;
  if (const std::string why = json_.Parse(record.text); !why.empty()) {
    return Problem(file, "json", why);
  }
  EventHead head;
  head.recv_ns = record.recv_ns;
  head.seq = messages_;
  const VenueOutcome outcome = decoder_->Decode({record, json_.root(), head, sink});
  const std::string_view type = IsTypeName(outcome.type) ? outcome.type : "other";
  if (!outcome.why.empty()) return Problem(file, type, outcome.why);
  if (outcome.is_known) {
    counts_.AddNamed(type);
  } else {
    counts_.AddUnknown(type);
  }
  return absl::OkStatus();
}

absl::Status WebsocketRecording::Problem(const RecordingFile& file, std::string_view type,
                                         std::string_view why) {
  counts_.AddNamed(fmt::format("bad_{}", type));
  counts_.AddProblem(fmt::format("{}: {}: {}", file.Place(), type, why));
  if (file.has_end()) return absl::OkStatus();
  return DataLoss("{}: the file is cut off: {}", file.Place(), why);
}

}  // namespace tickstack::feed::market
