#pragma once

// `tickstack init`: writes a commented stack.toml from five questions, or from flags.

#include <optional>
#include <string>

namespace tickstack::cli {

// A value that is set was given by a flag, so its question is not asked.
struct InitOptions {
  std::string path = "stack.toml";
  std::optional<std::string> data = {};
  std::optional<std::string> feed = {};     // sim, lean or none.
  std::optional<std::string> ticks = {};    // lean: directory of the archive.
  std::optional<std::string> date = {};     // lean: default: the first day of the archive.
  std::optional<std::string> columns = {};  // dram or tier.
  std::optional<std::string> tier_path = {};
  std::optional<std::string> tier_size = {};
  std::optional<std::string> clients = {};  // local or others.
  std::optional<std::string> users = {};
  std::optional<std::string> certificate = {};
  std::optional<std::string> key = {};
  std::optional<std::string> ca = {};
  std::optional<std::string> server_name = {};
  std::optional<int> port = {};
  bool yes = false;    // True: asks nothing, and takes defaults for what is not set.
  bool force = false;  // True: replaces an existing file.
};

// Asks on the terminal for each option that is not set; without a terminal, takes its default.
// Writes the file only if a stack with this configuration could start on this machine, and never in
// part. The file has mode 0600 if it names files with secrets, else 0644. Then does what
// `tickstack check` does, and prints the commands to run next. Returns 0; 1 with the reason on
// stderr, if the file was not written; or the exit code of the check.
int RunInit(const InitOptions& options);

}  // namespace tickstack::cli
