#include "tplog/tplog_state.h"

#include <algorithm>
#include <charconv>

#include "base/byte_buffer.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "base/logging.h"
#include "base/status.h"

namespace tickstack::tplog {
namespace {

constexpr uint32_t kVersionWithoutChecksum = 1;
constexpr uint64_t kBytesMax = uint64_t{1} << 20;
// Between boot and mount, in one line: a program that does not know mounts takes it for another
// boot, and compares the log.
constexpr std::string_view kMountWord = " mount ";

// The first line of a state file.
std::string Head(uint32_t version) { return fmt::format("tickstack log state {}", version); }

std::string_view TakeUpTo(char end, std::string_view& text) {
  const size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

template <typename Number>
bool TakeNumber(std::string_view& text, Number* out) {
  const std::string_view word = TakeUpTo(' ', text);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *out);
  return error == std::errc() && end == word.data() + word.size();
}

TplogState::Bytes LesserOf(const TplogState::Bytes& a, const TplogState::Bytes& b) {
  return {std::min(a.log, b.log), std::min(a.index, b.index)};
}

std::string ChecksumLine(std::string_view text) {
  return fmt::format("crc32c {:08x}\n", Crc32c(AsBytes(text)));
}

// Parses a line of a state; false if it is invalid.
bool TakeLine(std::string_view line, TplogState& state) {
  const std::string_view key = TakeUpTo(' ', line);
  if (key == "writer" && (line == "open" || line == "closed")) {
    state.open = line == "open";
  } else if (key == "day" && (line == "open" || line == "ended")) {
    state.ended = line == "ended";
  } else if (key == "boot") {
    const size_t mount = line.find(kMountWord);
    state.boot = line.substr(0, mount);
    state.mount = mount == line.npos ? "" : line.substr(mount + kMountWord.size());
  } else if (key == "synced") {
    TplogState::Bytes synced;
    if (!TakeNumber(line, &synced.log) || !TakeNumber(line, &synced.index)) return false;
    state.synced = LesserOf(synced, state.synced.value_or(synced));
  } else if (key == "cut") {
    TplogState::Cut cut;
    if (!TakeNumber(line, &cut.messages) || !TakeNumber(line, &cut.time_ns)) return false;
    state.cuts.push_back(cut);
  } else {
    return false;
  }
  return true;
}

std::string LineOf(const TplogState::Bytes& synced) {
  return fmt::format("synced {} {}\n", synced.log, synced.index);
}

std::string TextOf(const TplogState& state) {
  std::string text =
      fmt::format("{}\nwriter {}\nboot {}{}{}\nday {}\n", Head(kTplogStateVersion),
                  state.open ? "open" : "closed", state.boot, state.mount.empty() ? "" : kMountWord,
                  state.mount, state.ended ? "ended" : "open");
  if (state.synced.has_value()) text += LineOf(*state.synced);
  for (const TplogState::Cut& cut : state.cuts) {
    text += fmt::format("cut {} {}\n", cut.messages, cut.time_ns);
  }
  return text + ChecksumLine(text);
}

absl::StatusOr<TplogState> Parse(const std::string& path, std::string_view text) {
  const std::string_view all = text;
  const std::string_view head = TakeUpTo('\n', text);
  bool is_checked = head == Head(kVersionWithoutChecksum);
  if (head != Head(kTplogStateVersion) && !is_checked) {
    return DataLoss("{}: line 1: expected \"{}\"", path, Head(kTplogStateVersion));
  }
  TplogState state;
  for (int line = 2; !text.empty(); ++line) {
    const std::string_view before = all.substr(0, all.size() - text.size());
    const std::string_view content = TakeUpTo('\n', text);
    if (!is_checked && content.starts_with("crc32c ")) {
      is_checked = ChecksumLine(before) == std::string(content) + '\n';
      if (!is_checked) return DataLoss("{}: line {}: the checksum does not match", path, line);
    } else if (!TakeLine(content, state)) {
      return DataLoss("{}: line {}: expected writer, boot, day, synced or cut with its value", path,
                      line);
    }
  }
  if (!is_checked) return DataLoss("{}: has no checksum", path);
  return state;
}

// Adds the line to the state file, after its checksum. The file stays as it is if that fails, too.
absl::Status AppendLine(const std::string& log_path, const TplogState::Bytes& synced) {
  TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(TplogStatePath(log_path)));
  TS_ASSIGN_OR_RETURN(const uint64_t bytes, file.Bytes());
  const std::string head = Head(kTplogStateVersion) + "\n";
  const std::string before = bytes == 0 ? head + ChecksumLine(head) : "";
  return file.WriteAt(bytes, AsBytes(before + LineOf(synced)));
}

}  // namespace

bool TplogState::MayHaveLostPages(std::string_view boot_now, std::string_view mount_now) const {
  if (!open) return false;
  return boot != boot_now || (!mount.empty() && !mount_now.empty() && mount != mount_now);
}

std::string TplogStatePath(std::string_view log_path) { return std::string(log_path) + ".state"; }

absl::StatusOr<TplogState> ReadTplogState(const std::string& log_path) {
  const std::string path = TplogStatePath(log_path);
  const absl::StatusOr<ByteBuffer> content = ReadWholeFile(path, kBytesMax);
  if (absl::IsNotFound(content.status())) return TplogState();
  TS_RETURN_IF_ERROR(content.status());
  return Parse(path, AsText(*content));
}

absl::Status WriteTplogState(const std::string& log_path, const TplogState& state) {
  const std::string path = TplogStatePath(log_path);
  const std::string new_path = path + ".new";
  {
    TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(new_path));
    TS_RETURN_IF_ERROR(file.Truncate(0));
    TS_RETURN_IF_ERROR(file.WriteAt(0, AsBytes(TextOf(state))));
    TS_RETURN_IF_ERROR(file.SyncData());
  }
  return RenameReplacing(new_path, path);
}

void NoteFailedSync(const std::string& log_path, TplogState::Bytes synced, TplogState& state) {
  state.synced = LesserOf(synced, state.synced.value_or(synced));
  if (WriteTplogState(log_path, state).ok()) return;
  // The disk that just failed fails again. A line that is only in the page cache will do.
  if (const absl::Status noted = AppendLine(log_path, *state.synced); !noted.ok()) {
    LogError(
        "a sync of the log failed, and the next start will not know it: a later power cut may lose "
        "rows path={} error=\"{}\"",
        log_path, Message(noted));
  }
}

}  // namespace tickstack::tplog
