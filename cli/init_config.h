#pragma once

// The text of a stack.toml that `tickstack init` writes, with a comment for each key.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack::cli {

enum class InitFeed {
  kSimulated,  // A simulated market.
  kLean,       // An archive of real ticks.
  kNone,       // Feed handlers of the user connect.
};

// The answers from which a configuration is written.
struct InitAnswers {
  std::string data = "data";  // Data directory.

  InitFeed feed = InitFeed::kSimulated;
  std::string ticks = {};                 // kLean: directory of the archive.
  std::vector<std::string> symbols = {};  // kLean: its symbols, at least one.
  std::string date = {};                  // kLean: day to publish, such as 2013.10.07.

  std::string tier_path = {};  // Directory of a second memory tier; empty: all columns are in DRAM.
  std::string tier_size = {};  // Size of the second tier, such as 64GiB.

  bool others_connect = false;   // True: listens at all addresses, not only on loopback.
  std::string users = {};        // Path of the users file; empty: everyone may do everything.
  std::string certificate = {};  // Files for TLS, see [tls]; empty: no TLS.
  std::string key = {};
  std::string ca = {};
  std::string server_name = {};

  int port = 5010;  // Port of the tickerplant; other processes have ports after it.

  // True if the file names files with secrets.
  bool names_secrets() const { return !users.empty() || !key.empty(); }
};

// Number of ports from `port` on that a written configuration may use.
inline constexpr int kInitPorts = 6;

// Returns the text of the configuration; `path` is its name in comments. kInvalidArgument if a
// value has a control character, which a reader of the file would not see; the error has the value.
absl::StatusOr<std::string> InitConfigText(const InitAnswers& answers, std::string_view path);

}  // namespace tickstack::cli
