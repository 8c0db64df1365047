#include "cli/version_command.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/build_facts.h"
#include "disk/checksum_file.h"
#include "mem/persistent_tier.h"
#include "table/durable_tables.h"
#include "tplog/tplog_format.h"
#include "tplog/tplog_state.h"
#include "wire/protocol.h"

namespace tickstack::cli {
namespace {

struct FormatVersion {
  std::string_view key;   // In JSON.
  std::string_view name;  // In text.
  uint32_t version;       // The constant that writer and reader use.
};
constexpr std::array kFormats = {
    FormatVersion{"log_index", "log index", tplog::kIndexVersion},
    FormatVersion{"log_state", "log state", tplog::kTplogStateVersion},
    FormatVersion{"persistent_tier", "persistent tier", mem::PersistentTier::kFormatVersion},
    FormatVersion{"persistent_tables", "tables in it", DurableTables::kFormatVersion},
    FormatVersion{"checksums", "checksums", disk::kChecksumVersion},
};

}  // namespace

bool AsksForVersion(const std::vector<std::string>& args) {
  if (args.empty() || args.size() > 2 || args[0] != "--version") return false;
  return args.size() == 1 || args[1] == "--json";
}

int RunVersion(bool json) {
  if (json) {
    nlohmann::ordered_json formats = nlohmann::ordered_json::object();
    for (const FormatVersion& format : kFormats) formats[std::string(format.key)] = format.version;
    const nlohmann::ordered_json all = {{"version", kBuildFacts.version},
                                        {"commit", kBuildFacts.commit},
                                        {"protocol", wire::protocol::kVersion},
                                        {"formats", std::move(formats)}};
    fmt::print("{}\n", all.dump());
    return 0;
  }
  constexpr std::string_view kLine = "{:<16} {}\n";
  fmt::print("tickstack {}\n", kBuildFacts.version);
  fmt::print(kLine, "commit", kBuildFacts.commit.empty() ? "unknown" : kBuildFacts.commit);
  fmt::print(kLine, "protocol", wire::protocol::kVersion);
  for (const FormatVersion& format : kFormats) fmt::print(kLine, format.name, format.version);
  return 0;
}

}  // namespace tickstack::cli
