#include <fmt/ranges.h>

#include <filesystem>

#include "base/crc32c.h"
#include "base/status.h"
#include "feed/lean_source.h"
#include "feed/sim_source.h"
#include "feed/source.h"
#include "feed/tplog_source.h"

namespace tickstack::feed {
namespace {

// Names stay in the log's index for ever, so they are short.
constexpr size_t kShortBytes = 64;

std::string Short(std::string text) {
  if (text.size() <= kShortBytes) return text;
  return fmt::format("{:08x}", Crc32c(std::as_bytes(std::span(text))));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> MakeSource(const SourceOptions& options) {
  if (options.kind == "sim") return SimSource::Create(options);
  if (options.kind == "lean") return LeanSource::Create(options);
  if (options.kind == "tplog") return TplogSource::Create(options);
  return InvalidArgument("source '{}': expected sim, lean or tplog", options.kind);
}

std::string NumberedName(std::string_view feed, const SourceOptions& options) {
  if (options.kind == "lean") {
    return fmt::format("{}@lean.{}.{}", feed, options.date,
                       Short(fmt::format("{}", fmt::join(options.lean_symbols, ","))));
  }
  if (options.kind == "tplog") {
    std::error_code unknown;  // Without it, the path as given identifies the log.
    const std::filesystem::path path = std::filesystem::absolute(options.path, unknown);
    return fmt::format("{}@tplog.{}", feed,
                       Short(unknown ? options.path : path.lexically_normal().string()));
  }
  const std::string name = fmt::format("{}@{}.{}.{}.{}", feed, options.kind, options.profile,
                                       options.symbols, options.seed);
  // Ten is the profile's default: that name stays as it is in existing logs.
  return options.quotes_per_trade == 10 ? name
                                        : fmt::format("{}.q{}", name, options.quotes_per_trade);
}

}  // namespace tickstack::feed
