#include "loadtest/process_usage.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/machine.h"

namespace tickstack::loadtest {
namespace {

uint64_t CountOf(const std::string& path, std::string_view key) {
  return std::strtoull(ProcField(path, key).c_str(), nullptr, 10);
}

}  // namespace

ProcessUsage ProcessUsage::Since(const ProcessUsage& before) const {
  // A thread that ended is no longer counted, so a sum can decrease.
  const auto since = [](uint64_t now, uint64_t then) { return now - std::min(now, then); };
  return {.rss_bytes = rss_bytes,
          .cpu_s = cpu_s - before.cpu_s,
          .voluntary_switches = since(voluntary_switches, before.voluntary_switches),
          .involuntary_switches = since(involuntary_switches, before.involuntary_switches),
          .read_bytes = since(read_bytes, before.read_bytes),
          .written_bytes = since(written_bytes, before.written_bytes)};
}

std::optional<ProcessUsage> UsageOf(pid_t pid) {
  const std::string folder = fmt::format("/proc/{}", pid);
  std::ifstream stat_file(folder + "/stat");
  std::string stat;
  if (!std::getline(stat_file, stat)) return std::nullopt;
  // The name, in parentheses, may contain anything; user and system time are the 12th and 13th
  // fields after it.
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  uint64_t user = 0, system = 0;
  fields >> user >> system;

  ProcessUsage usage;
  usage.cpu_s = static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  usage.rss_bytes = CountOf(folder + "/status", "VmRSS") * 1024;
  usage.read_bytes = CountOf(folder + "/io", "read_bytes");
  usage.written_bytes = CountOf(folder + "/io", "write_bytes");
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator(folder + "/task", error)) {
    const std::string status = task.path().string() + "/status";
    usage.voluntary_switches += CountOf(status, "voluntary_ctxt_switches");
    usage.involuntary_switches += CountOf(status, "nonvoluntary_ctxt_switches");
  }
  return usage;
}

std::optional<ProcessShare> ShareOf(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/smaps_rollup", pid));
  ProcessShare share;
  const std::pair<std::string_view, uint64_t*> fields[] = {{"Pss:", &share.bytes},
                                                           {"Pss_Anon:", &share.anonymous_bytes},
                                                           {"Pss_File:", &share.file_bytes},
                                                           {"Pss_Shmem:", &share.shared_bytes}};
  size_t found = 0;
  for (std::string line; std::getline(file, line);) {
    for (const auto& [name, bytes] : fields) {
      if (!line.starts_with(name)) continue;
      *bytes = std::strtoull(line.c_str() + name.size(), nullptr, 10) * 1024;
      ++found;
    }
  }
  if (found != std::size(fields)) return std::nullopt;
  return share;
}

}  // namespace tickstack::loadtest
