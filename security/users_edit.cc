#include "security/users_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/status.h"
#include "security/users_file.h"

namespace tickstack::security {
namespace {

constexpr std::string_view kWhere = "users file";

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

std::string_view WithoutBlanks(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = line.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kBlanks) - begin + 1);
}

// Returns the header of a user's section as AddUser writes it.
std::string HeaderOf(std::string_view user) {
  const bool bare = user.find('.') == std::string_view::npos;
  return bare ? fmt::format("[users.{}]", user) : fmt::format("[users.\"{}\"]", user);
}

struct LineRange {
  size_t begin = 0;  // The header.
  size_t end = 0;    // The line after the last one.
};

// Finds the lines of a user's section. Comments and blank lines before the next header belong to
// that one.
absl::StatusOr<LineRange> SectionOf(const std::vector<std::string>& lines, std::string_view user) {
  const std::string header = HeaderOf(user), quoted = fmt::format("[users.\"{}\"]", user);
  LineRange range;
  for (; range.begin < lines.size(); ++range.begin) {
    const std::string_view line = WithoutBlanks(lines[range.begin]);
    const std::string_view bare = WithoutBlanks(line.substr(0, line.find('#')));
    if (bare == header || bare == quoted) break;
  }
  if (range.begin == lines.size()) {
    return NotFound("{}: no section {}", kWhere, header);
  }
  range.end = range.begin + 1;
  while (range.end < lines.size() && !WithoutBlanks(lines[range.end]).starts_with('[')) ++range.end;
  if (range.end == lines.size()) return range;
  const auto is_apart = [&](size_t i) {
    const std::string_view line = WithoutBlanks(lines[i]);
    return line.empty() || line.starts_with('#');
  };
  while (range.end > range.begin + 1 && is_apart(range.end - 1)) --range.end;
  return range;
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

bool IsHashLine(std::string_view line) {
  constexpr std::string_view kKey = "password";
  line = WithoutBlanks(line);
  return line.starts_with(kKey) && WithoutBlanks(line.substr(kKey.size())).starts_with('=');
}

}  // namespace

absl::StatusOr<std::string> AddUser(std::string_view text, std::string_view user,
                                    std::string_view hash, std::string_view lines) {
  TS_ASSIGN_OR_RETURN(const Users before, ParseUsers(text, kWhere));
  if (before.contains(user)) {
    return absl::AlreadyExistsError(AbslView(fmt::format("the user {} exists", user)));
  }
  std::string edited(text);
  if (!edited.empty() && !edited.ends_with('\n')) edited += '\n';
  if (!edited.empty()) edited += '\n';
  edited += fmt::format("{}\npassword = \"{}\"\n{}", HeaderOf(user), hash, lines);
  TS_ASSIGN_OR_RETURN(const Users after, ParseUsers(edited, kWhere));
  if (after.size() != before.size() + 1 || !after.contains(user)) {
    return InvalidArgument("{}: the user {} cannot be added: edit the file", kWhere, user);
  }
  return edited;
}

absl::StatusOr<std::string> ReplaceHash(std::string_view text, std::string_view user,
                                        std::string_view hash) {
  TS_ASSIGN_OR_RETURN(Users expected, ParseUsers(text, kWhere));
  if (!expected.contains(user)) return NotFound("there is no user {}", user);
  std::vector<std::string> lines = LinesOf(text);
  TS_ASSIGN_OR_RETURN(const LineRange section, SectionOf(lines, user));
  for (size_t i = section.begin; i < section.end; ++i) {
    if (IsHashLine(lines[i])) lines[i] = fmt::format("password = \"{}\"\n", hash);
  }
  std::string edited = Joined(lines);
  TS_ASSIGN_OR_RETURN(const Users after, ParseUsers(edited, kWhere));
  expected.find(user)->second.password = hash;
  if (after != expected) {
    return InvalidArgument("{}: the password of {} cannot be replaced: edit the file", kWhere,
                           user);
  }
  return edited;
}

absl::StatusOr<std::string> RemoveUser(std::string_view text, std::string_view user) {
  TS_ASSIGN_OR_RETURN(Users expected, ParseUsers(text, kWhere));
  if (!expected.contains(user)) return NotFound("there is no user {}", user);
  std::vector<std::string> lines = LinesOf(text);
  TS_ASSIGN_OR_RETURN(const LineRange section, SectionOf(lines, user));
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(section.begin),
              lines.begin() + static_cast<std::ptrdiff_t>(section.end));
  std::string edited = Joined(lines);
  TS_ASSIGN_OR_RETURN(const Users after, ParseUsers(edited, kWhere));
  expected.erase(expected.find(user));
  if (after != expected) {
    return InvalidArgument("{}: the user {} cannot be removed: edit the file", kWhere, user);
  }
  return edited;
}

}  // namespace tickstack::security
