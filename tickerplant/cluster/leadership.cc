#include "tickerplant/cluster/leadership.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/status.h"

namespace tickstack::tickerplant {
namespace {

constexpr std::string_view kHead = "tickstack 1";
constexpr size_t kNameBytesMax = 64;
constexpr size_t kTextBytesMax = size_t{64} << 10;

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool ParseNumber(std::string_view text, uint64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

absl::Status WrongLine(std::string_view line) {
  return InvalidArgument("the cluster's entry has the line \"{}\", expected another form",
                         line.substr(0, 80));
}

}  // namespace

absl::Status CheckMemberName(std::string_view name) {
  const bool fits =
      !name.empty() && name.size() <= kNameBytesMax && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '.';
      });
  if (fits) return absl::OkStatus();
  return InvalidArgument(
      "\"{}\" is no name of a member: expected 1 to {} letters, digits, `_`, `-` and `.`",
      name.substr(0, kNameBytesMax), kNameBytesMax);
}

std::string TextOf(const Leadership& leadership) {
  const std::string leader =
      leadership.leader.empty()
          ? "leader"
          : fmt::format("leader {} {}", leadership.leader, leadership.address);
  return fmt::format("{}\nepoch {}\n{}\nbeat {}\ninsync {}\n", kHead, leadership.epoch, leader,
                     leadership.beat, fmt::join(leadership.in_sync, " "));
}

absl::StatusOr<Leadership> ParseLeadership(std::string_view text) {
  constexpr size_t kLines = 5;
  if (text.size() > kTextBytesMax) {
    return InvalidArgument("the cluster's entry has {} bytes, at most {}", text.size(),
                           kTextBytesMax);
  }
  const std::vector<std::string_view> lines = Split(text, '\n');
  if (lines.empty() || lines[0] != kHead) return WrongLine(lines.empty() ? "" : lines[0]);
  if (lines.size() != kLines) return WrongLine(lines.back());
  Leadership leadership;
  const std::vector<std::string_view> epoch = Split(lines[1], ' '), leader = Split(lines[2], ' '),
                                      beat = Split(lines[3], ' '), in_sync = Split(lines[4], ' ');
  if (epoch.size() != 2 || epoch[0] != "epoch" || !ParseNumber(epoch[1], &leadership.epoch)) {
    return WrongLine(lines[1]);
  }
  if ((leader.size() != 1 && leader.size() != 3) || leader[0] != "leader") {
    return WrongLine(lines[2]);
  }
  if (leader.size() == 3) {
    if (!CheckMemberName(leader[1]).ok()) return WrongLine(lines[2]);
    leadership.leader = leader[1];
    leadership.address = leader[2];
  }
  if (beat.size() != 2 || beat[0] != "beat" || !ParseNumber(beat[1], &leadership.beat)) {
    return WrongLine(lines[3]);
  }
  if (in_sync.empty() || in_sync[0] != "insync") return WrongLine(lines[4]);
  for (size_t i = 1; i < in_sync.size(); ++i) {
    if (!CheckMemberName(in_sync[i]).ok()) return WrongLine(lines[4]);
    leadership.in_sync.emplace(in_sync[i]);
  }
  return leadership;
}

}  // namespace tickstack::tickerplant
