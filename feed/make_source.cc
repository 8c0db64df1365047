#include "base/status.h"
#include "feed/lean_source.h"
#include "feed/sim_source.h"
#include "feed/source.h"
#include "feed/tplog_source.h"

namespace tickstack::feed {

absl::StatusOr<std::unique_ptr<Source>> MakeSource(const SourceOptions& options) {
  if (options.kind == "sim") return SimSource::Create(options);
  if (options.kind == "lean") return LeanSource::Create(options);
  if (options.kind == "tplog") return TplogSource::Create(options);
  return InvalidArgument("source '{}': expected sim, lean or tplog", options.kind);
}

}  // namespace tickstack::feed
