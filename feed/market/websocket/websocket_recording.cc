#include "feed/market/websocket/websocket_recording.h"

#include <algorithm>

#include "base/status.h"

namespace tickstack::feed::market {
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
  TS_ASSIGN_OR_RETURN(decoder_, RecordDecoder::Create(venue_));
  files_.clear();
  for (const std::string& path : paths_) {
    TS_ASSIGN_OR_RETURN(std::unique_ptr<RecordingFile> file, RecordingFile::Open(path));
    files_.push_back(std::move(file));
  }
  has_begun_ = ended_ = false;
  recv_ns_ = kNullLong;
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
  const auto place = [&] { return file.Place(); };
  if (!file.why().empty()) {
    decoder_->CountBadLine(place, file.why());
    return CutOff(file, file.why());
  }
  const RecordDecoder::Outcome outcome = decoder_->Take(file.record(), place, sink);
  return outcome.why.empty() ? absl::OkStatus() : CutOff(file, outcome.why);
}

// Returns an error if the file ends within the line, which does not fit.
absl::Status WebsocketRecording::CutOff(const RecordingFile& file, std::string_view why) {
  if (file.has_end()) return absl::OkStatus();
  return DataLoss("{}: the file is cut off: {}", file.Place(), why);
}

}  // namespace tickstack::feed::market
