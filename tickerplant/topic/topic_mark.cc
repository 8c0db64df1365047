#include "tickerplant/topic/topic_mark.h"

#include <charconv>
#include <string_view>

#include "base/byte_buffer.h"
#include "base/file.h"
#include "base/status.h"
#include "tickerplant/mark_file.h"

namespace tickstack::tickerplant {
namespace {

constexpr uint64_t kTopicMarkBytesMax = 4096;
constexpr std::string_view kMarkVersion = "topic mark 2";
constexpr std::string_view kMarkWithoutTables = "topic mark 1";

std::string BodyOf(const TopicMark& mark) {
  const TopicState::Mark& now = mark.now;
  return fmt::format(
      "tickstack topic mark 2\ntopic {}\noffset {}\nepoch {}\nleader {}\naddress {}\ndate {}\n"
      "seq {}\ncrc {}\nleast {}\nday_offset {}\nday_epoch {}\n"
      "tables {}\n",
      mark.topic, now.offset, now.epoch, now.leader, now.address, now.place.date, now.place.seq,
      now.crc, now.least_seq, now.day_offset, now.day_epoch, now.tables_crc);
}

// Takes `key VALUE\n` from the front; nullopt if the text begins otherwise.
std::optional<std::string_view> TakeValue(std::string_view key, std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(key) || text.size() <= key.size() ||
      text[key.size()] != ' ') {
    return std::nullopt;
  }
  const std::string_view value = text.substr(key.size() + 1, end - key.size() - 1);
  text.remove_prefix(end + 1);
  return value;
}

bool TakeText(std::string_view key, std::string_view& text, std::string* out) {
  const std::optional<std::string_view> value = TakeValue(key, text);
  if (value) *out = *value;
  return value.has_value();
}

template <typename T>
bool TakeNumber(std::string_view key, std::string_view& text, T* out) {
  const std::optional<std::string_view> taken = TakeValue(key, text);
  const std::string_view value = taken.value_or("");
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), *out);
  return error == std::errc() && end == value.data() + value.size();
}

}  // namespace

absl::StatusOr<std::optional<TopicMark>> ReadTopicMark(const std::string& path) {
  const absl::StatusOr<ByteBuffer> content = ReadWholeFile(path, kTopicMarkBytesMax);
  if (absl::IsNotFound(content.status())) return std::nullopt;
  TS_RETURN_IF_ERROR(content.status());
  const std::string_view all = AsText(content->span());
  std::string_view text = all;
  TopicMark mark;
  std::string version;
  const bool is_whole =
      TakeText("tickstack", text, &version) &&
      (version == kMarkVersion || version == kMarkWithoutTables) &&
      TakeText("topic", text, &mark.topic) && TakeNumber("offset", text, &mark.now.offset) &&
      TakeNumber("epoch", text, &mark.now.epoch) && TakeText("leader", text, &mark.now.leader) &&
      TakeText("address", text, &mark.now.address) &&
      TakeNumber("date", text, &mark.now.place.date) &&
      TakeNumber("seq", text, &mark.now.place.seq) && TakeNumber("crc", text, &mark.now.crc) &&
      TakeNumber("least", text, &mark.now.least_seq) &&
      TakeNumber("day_offset", text, &mark.now.day_offset) &&
      TakeNumber("day_epoch", text, &mark.now.day_epoch) &&
      (version == kMarkWithoutTables || TakeNumber("tables", text, &mark.now.tables_crc)) &&
      text == ChecksumLine(all.substr(0, all.size() - text.size()));
  if (!is_whole) return std::nullopt;
  return mark;
}

absl::Status WriteTopicMark(const std::string& path, const TopicMark& mark) {
  const std::string body = BodyOf(mark);
  return ReplaceMarkFile(path, body + ChecksumLine(body));
}

}  // namespace tickstack::tickerplant
