#include "wire/tplog_state.h"

#include <charconv>

#include "base/byte_buffer.h"
#include "base/file.h"
#include "base/status.h"

namespace tickstack::wire {
namespace {

constexpr std::string_view kHead = "tickstack log state 1";
constexpr uint64_t kBytesMax = uint64_t{1} << 20;

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

// Parses a line of a state; false if it is invalid.
bool TakeLine(std::string_view line, TplogState& state) {
  const std::string_view key = TakeUpTo(' ', line);
  if (key == "writer" && (line == "open" || line == "closed")) {
    state.open = line == "open";
  } else if (key == "day" && (line == "open" || line == "ended")) {
    state.ended = line == "ended";
  } else if (key == "boot") {
    state.boot = line;
  } else if (key == "cut") {
    TplogState::Cut cut;
    if (!TakeNumber(line, &cut.messages) || !TakeNumber(line, &cut.time_ns)) return false;
    state.cuts.push_back(cut);
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string TplogStatePath(std::string_view log_path) { return std::string(log_path) + ".state"; }

absl::StatusOr<TplogState> ReadTplogState(const std::string& log_path) {
  const std::string path = TplogStatePath(log_path);
  const absl::StatusOr<ByteBuffer> content = ReadWholeFile(path, kBytesMax);
  if (absl::IsNotFound(content.status())) return TplogState();
  TS_RETURN_IF_ERROR(content.status());
  std::string_view text = AsText(*content);
  if (const std::string_view head = TakeUpTo('\n', text); head != kHead) {
    return DataLoss("{}: line 1: expected \"{}\"", path, kHead);
  }
  TplogState state;
  for (int line = 2; !text.empty(); ++line) {
    if (!TakeLine(TakeUpTo('\n', text), state)) {
      return DataLoss("{}: line {}: expected writer, boot, day or cut with its value", path, line);
    }
  }
  return state;
}

absl::Status WriteTplogState(const std::string& log_path, const TplogState& state) {
  std::string text =
      fmt::format("{}\nwriter {}\nboot {}\nday {}\n", kHead, state.open ? "open" : "closed",
                  state.boot, state.ended ? "ended" : "open");
  for (const TplogState::Cut& cut : state.cuts) {
    text += fmt::format("cut {} {}\n", cut.messages, cut.time_ns);
  }
  const std::string path = TplogStatePath(log_path);
  const std::string new_path = path + ".new";
  {
    TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(new_path));
    TS_RETURN_IF_ERROR(file.Truncate(0));
    TS_RETURN_IF_ERROR(file.WriteAt(0, AsBytes(text)));
    TS_RETURN_IF_ERROR(file.SyncData());
  }
  return RenameReplacing(new_path, path);
}

}  // namespace tickstack::wire
