#include "cli/query_words.h"

#include <algorithm>
#include <cctype>

#include "base/file.h"
#include "base/status.h"

namespace tickstack::cli {

size_t BeginOfWord(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0) {
    const auto c = static_cast<unsigned char>(text[begin - 1]);
    if (std::isalnum(c) == 0 && c != '_' && c != '.') break;
    --begin;
  }
  // A number is no name.
  return begin < text.size() && std::isdigit(static_cast<unsigned char>(text[begin])) != 0
             ? text.size()
             : begin;
}

bool IsIncomplete(std::string_view text) {
  int open = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    const bool comment = c == '/' && i > 0 && std::isspace(static_cast<unsigned char>(text[i - 1]));
    if (comment) {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"') {
      in_string = true;
    } else if (std::string_view("([{").find(c) != std::string_view::npos) {
      ++open;
    } else if (std::string_view(")]}").find(c) != std::string_view::npos) {
      --open;
    }
  }
  return in_string || open > 0;
}

std::vector<Statement> StatementsOf(std::string_view script) {
  std::vector<Statement> statements;
  size_t number = 0;
  while (!script.empty()) {
    const size_t end = std::min(script.find('\n'), script.size());
    std::string_view line = script.substr(0, end);
    script.remove_prefix(std::min(end + 1, script.size()));
    ++number;
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0) {
      line.remove_suffix(1);
    }
    if (line.empty() || line.front() == '/') continue;
    const bool goes_on = std::isspace(static_cast<unsigned char>(line.front())) != 0;
    if (goes_on && !statements.empty()) {
      statements.back().text.append("\n").append(line);
    } else {
      statements.push_back({number, std::string(line)});
    }
  }
  return statements;
}

absl::StatusOr<std::string> ReadScript(const std::string& path) {
  constexpr uint64_t kBytesMax = uint64_t{16} << 20;
  TS_ASSIGN_OR_RETURN(const File file, File::OpenForReading(path));
  TS_ASSIGN_OR_RETURN(const uint64_t bytes, file.Bytes());
  if (bytes > kBytesMax) {
    return ResourceExhausted("{}: the script has {} bytes, expected at most {}", path, bytes,
                             kBytesMax);
  }
  std::string text(bytes, '\0');
  TS_ASSIGN_OR_RETURN(const size_t got,
                      file.ReadAt(0, std::as_writable_bytes(std::span(text.data(), text.size()))));
  text.resize(got);
  return text;
}

std::vector<std::string> WordsThatBegin(const std::vector<std::string>& sorted,
                                        std::string_view begin) {
  auto at = std::lower_bound(sorted.begin(), sorted.end(), begin);
  std::vector<std::string> found;
  for (; at != sorted.end() && at->starts_with(begin); ++at) found.push_back(*at);
  return found;
}

}  // namespace tickstack::cli
