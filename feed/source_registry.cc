#include "feed/source_registry.h"

#include <algorithm>

#include "base/check.h"
#include "base/status.h"
#include "feed/lean_source.h"
#include "feed/sim_source.h"
#include "feed/tplog_source.h"

namespace tickstack::feed {
namespace {

template <typename Options>
std::unique_ptr<SourceOptions> Make() {
  return std::make_unique<Options>();
}

constexpr SourceKind kSources[] = {
    {"sim", Make<SimOptions>},
    {"lean", Make<LeanOptions>},
    {"tplog", Make<TplogOptions>},
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
