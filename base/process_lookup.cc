#include "base/process_lookup.h"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <climits>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "base/printable.h"

namespace tickstack {
namespace {

constexpr std::string_view kUnknown = "another process";
constexpr std::string_view kOurProgram = "tickstack";
constexpr size_t kNameMax = 64;  // Longest program name in a message, in bytes.

// Files of /proc do not report their size. A read fails if the process ended after its file was
// opened: an iterator over the buffer would throw then, while the stream takes what there is.
std::string ReadProc(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

template <typename T>
std::optional<T> ParseNumber(std::string_view text, int base = 10) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Calls `visit` with each name in a directory; does nothing if it cannot be read.
void ForEachName(const std::string& directory, const std::function<void(std::string_view)>& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), &::closedir);
  if (open == nullptr) return;
  while (const dirent* entry = ::readdir(open.get())) visit(entry->d_name);
}

std::string_view BaseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::vector<std::string> CommandOf(pid_t pid) {
  std::vector<std::string> words;
  std::istringstream command(ReadProc(fmt::format("/proc/{}/cmdline", pid)));
  for (std::string word; std::getline(command, word, '\0');) words.push_back(word);
  return words;
}

// Returns the subcommand of a tickstack process, such as `rdb`; empty for other programs.
std::string RoleOf(const std::vector<std::string>& command) {
  if (command.size() < 2 || !BaseName(command[0]).starts_with(kOurProgram)) return "";
  return command[1].starts_with('-') ? "" : command[1];
}

// A supervisor also holds the sockets of its processes; the process itself is the better answer.
std::string DescribeBest(const std::vector<pid_t>& holders) {
  if (holders.empty()) return std::string(kUnknown);
  for (const pid_t pid : holders) {
    if (RoleOf(CommandOf(pid)) != "up") return DescribeProcess(pid);
  }
  return DescribeProcess(holders.front());
}

// Returns the processes with a descriptor that passes: (pid, descriptor's name, target of its
// link).
std::vector<pid_t> ProcessesWith(
    const std::function<bool(pid_t, std::string_view, std::string_view)>& is_it) {
  std::vector<pid_t> pids;
  ForEachName("/proc", [&](std::string_view name) {
    const std::optional<pid_t> pid = ParseNumber<pid_t>(name);
    if (!pid) return;
    const std::string folder = fmt::format("/proc/{}/fd", *pid);
    bool has = false;
    ForEachName(folder, [&](std::string_view fd) {
      char target[PATH_MAX];
      const ssize_t length =
          has ? -1 : ::readlink(fmt::format("{}/{}", folder, fd).c_str(), target, sizeof target);
      if (length > 0 && is_it(*pid, fd, std::string_view(target, static_cast<size_t>(length)))) {
        has = true;
      }
    });
    if (has) pids.push_back(*pid);
  });
  return pids;
}

std::string DescribeSocketHolder(const std::set<std::string>& inodes) {
  if (inodes.empty()) return std::string(kUnknown);
  return DescribeBest(ProcessesWith([&](pid_t, std::string_view, std::string_view target) {
    constexpr std::string_view kSocket = "socket:[";
    return target.starts_with(kSocket) && target.ends_with(']') &&
           inodes.contains(
               std::string(target.substr(kSocket.size(), target.size() - kSocket.size() - 1)));
  }));
}

}  // namespace

std::string DescribeProcess(pid_t pid) {
  if (pid == ::getpid()) return fmt::format("this process (pid {})", pid);
  const std::vector<std::string> command = CommandOf(pid);
  std::string name;
  if (!command.empty()) name = BaseName(command[0]);
  if (name.empty()) {
    name = ReadProc(fmt::format("/proc/{}/comm", pid));
    if (name.ends_with('\n')) name.pop_back();
  }
  if (name.empty()) return fmt::format("a process (pid {})", pid);
  const std::string role = RoleOf(command);
  const auto clip = [](std::string_view text) { return Printable(text.substr(0, kNameMax)); };
  return fmt::format("{}{}{} (pid {})", clip(name), role.empty() ? "" : " ", clip(role), pid);
}

// Lines of /proc/net/tcp: number, local address and port, remote ones, state, ..., inode.
std::string DescribePortHolder(uint16_t port) {
  constexpr std::string_view kListens = "0A";
  std::set<std::string> listening, others;
  for (const char* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::istringstream lines(ReadProc(table));
    std::string line;
    std::getline(lines, line);  // Skips the column names.
    while (std::getline(lines, line)) {
      std::istringstream fields(line);
      std::string number, local, remote, state, skipped, inode;
      fields >> number >> local >> remote >> state;
      for (int i = 0; i < 5; ++i) fields >> skipped;
      fields >> inode;
      const size_t colon = local.rfind(':');
      if (!fields || colon == std::string::npos || inode == "0") continue;
      if (ParseNumber<unsigned>(std::string_view(local).substr(colon + 1), 16) != port) continue;
      (state == kListens ? listening : others).insert(inode);
    }
  }
  return DescribeSocketHolder(listening.empty() ? others : listening);
}

// Lines of /proc/net/unix: number, references, protocol, flags, type, state, inode, path.
std::string DescribeUnixSocketHolder(std::string_view name) {
  constexpr std::string_view kAccepts = "00010000";
  std::set<std::string> inodes;
  std::istringstream lines(ReadProc("/proc/net/unix"));
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string number, references, protocol, flags, type, state, inode, path;
    fields >> number >> references >> protocol >> flags >> type >> state >> inode >> path;
    if (fields && flags == kAccepts && path == name) inodes.insert(inode);
  }
  return DescribeSocketHolder(inodes);
}

// /proc/locks does not name the process of an open file description's lock; the descriptor's own
// page lists it: `lock: 1: OFDLCK ADVISORY WRITE -1 fe:00:1234 0 EOF`.
std::string DescribeLockHolder(const std::string& path, ino_t inode) {
  const std::string name(BaseName(path));
  const std::string ending = fmt::format(":{} ", inode);
  return DescribeBest(ProcessesWith([&](pid_t pid, std::string_view fd, std::string_view target) {
    if (BaseName(target) != name) return false;
    std::istringstream lines(ReadProc(fmt::format("/proc/{}/fdinfo/{}", pid, fd)));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("lock:") && line.find(ending) != std::string::npos) return true;
    }
    return false;
  }));
}

}  // namespace tickstack
