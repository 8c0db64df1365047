#include "feed/sources/source_registry.h"

#include <algorithm>

#include "base/check.h"
#include "base/status.h"
#include "feed/sources/dbn_source.h"
#include "feed/sources/iex_source.h"
#include "feed/sources/itch_source.h"
#include "feed/sources/lean_source.h"
#include "feed/sources/lobster_source.h"
#include "feed/sources/mdp3_source.h"
#include "feed/sources/pitch_source.h"
#include "feed/sources/sim_source.h"
#include "feed/sources/taq_source.h"
#include "feed/sources/tardis_source.h"
#include "feed/sources/tplog_source.h"
#include "feed/sources/websocket_source.h"

namespace tickstack::feed {
namespace {

template <typename Options>
std::unique_ptr<SourceOptions> Make() {
  return std::make_unique<Options>();
}

constexpr SourceKind kSources[] = {
    {"sim", Make<SimOptions>},       {"lean", Make<LeanOptions>},
    {"tplog", Make<TplogOptions>},   {"itch", Make<ItchOptions>},
    {"iex", Make<IexOptions>},       {"lobster", Make<LobsterOptions>},
    {"pitch", Make<PitchOptions>},   {"dbn", Make<DbnOptions>},
    {"tardis", Make<TardisOptions>}, {"taq", Make<TaqOptions>},
    {"mdp3", Make<Mdp3Options>},     {"websocket", Make<WebsocketOptions>},
};

}  // namespace

std::span<const SourceKind> SourceKinds() { return kSources; }

SourceSettings::SourceSettings() {
  for (const SourceKind& kind : kSources) all_.push_back(kind.make_options());
}

absl::Status SourceSettings::Choose(std::string_view kind) {
  std::string names;
  for (const SourceKind& known : kSources) {
    if (known.name == kind) {
      kind_ = kind;
      return absl::OkStatus();
    }
    const bool last = &known == std::end(kSources) - 1;
    names += fmt::format("{}{}", names.empty() ? "" : last ? " or " : ", ", known.name);
  }
  return InvalidArgument("expected {}, found \"{}\"", names, kind);
}

SourceOptions& SourceSettings::chosen() const {
  const auto* const found = std::ranges::find(kSources, kind_, &SourceKind::name);
  TS_CHECK(found != std::end(kSources));
  return *all_[static_cast<size_t>(found - kSources)];
}

}  // namespace tickstack::feed
