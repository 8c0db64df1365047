#include "loadtest/placement.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "base/status.h"
#include "mem/medium_model.h"

namespace tickstack::loadtest {
namespace {

using Kind = Placement::Kind;

constexpr std::array kKinds = {
    std::pair<std::string_view, Kind>{"dram", Kind::kDram},
    std::pair<std::string_view, Kind>{"filesystem", Kind::kFilesystem},
    std::pair<std::string_view, Kind>{"pmem", Kind::kFilesystem},
    std::pair<std::string_view, Kind>{"persistent", Kind::kPersistent},
    std::pair<std::string_view, Kind>{"numa", Kind::kNuma},
    std::pair<std::string_view, Kind>{"simulate", Kind::kSimulate},
    std::pair<std::string_view, Kind>{"hybrid", Kind::kHybrid},
};

std::optional<int> WholeNumberOf(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

absl::Status Wrong(std::string_view text, std::string_view expected) {
  return InvalidArgument("stack {}: expected {}", text, expected);
}

// Removes a count such as `:3` from the end of `rest` and returns it; nullopt if there is none.
std::optional<int> TakeCount(std::string_view& rest) {
  const size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::optional<int> count = WholeNumberOf(rest.substr(colon + 1));
  if (count) rest = rest.substr(0, colon);
  return count;
}

}  // namespace

std::string_view NameOf(Kind kind) {
  if (kind == Kind::kFile) return "file";
  return std::find_if(kKinds.begin(), kKinds.end(),
                      [kind](const auto& known) { return known.second == kind; })
      ->first;
}

absl::StatusOr<Placement> ParsePlacement(std::string_view text) {
  Placement placement;
  placement.text = text;
  std::string_view word = text.substr(0, text.find(':'));
  const auto known = std::find_if(kKinds.begin(), kKinds.end(),
                                  [word](const auto& kind) { return kind.first == word; });
  if (known == kKinds.end()) {
    if (!text.ends_with(".toml")) {
      return Wrong(text,
                   "dram, filesystem:PATH, persistent:PATH, numa:NODE, simulate:MODEL:PATH, "
                   "hybrid:FILE, each with :COUNT if wanted, or FILE.toml");
    }
    placement.kind = Kind::kFile;
    placement.path = text;
    return placement;
  }
  placement.kind = known->second;
  // What follows the kind, with its colon and without the count.
  std::string_view rest = text.substr(word.size());
  const bool node_only =
      placement.kind == Kind::kNuma && std::count(rest.begin(), rest.end(), ':') < 2;
  if (!node_only) placement.rdbs = TakeCount(rest).value_or(1);
  if (placement.rdbs < 1 || placement.rdbs > kRdbsMax) {
    return Wrong(text, fmt::format("1 to {} rdbs, found {}", kRdbsMax, placement.rdbs));
  }
  if (!rest.empty()) rest.remove_prefix(1);
  switch (placement.kind) {
    case Kind::kDram:
      if (!rest.empty()) return Wrong(text, "dram or dram:COUNT");
      break;
    case Kind::kNuma: {
      const std::optional<int> node = WholeNumberOf(rest);
      if (!node || *node < 0) return Wrong(text, "numa:NODE or numa:NODE:COUNT");
      placement.node = *node;
      break;
    }
    case Kind::kSimulate: {
      const size_t colon = rest.find(':');
      const absl::StatusOr<mem::MediumModel> model = mem::FindMediumModel(rest.substr(0, colon));
      if (!model.ok()) return InvalidArgument("stack {}: {}", text, Message(model.status()));
      placement.model = model->name;
      rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
      if (rest.empty()) return Wrong(text, fmt::format("simulate:{}:PATH", placement.model));
      placement.path = rest;
      break;
    }
    case Kind::kFilesystem:
    case Kind::kPersistent:
    case Kind::kHybrid:
    case Kind::kFile:
      if (rest.empty()) return Wrong(text, fmt::format("{}:PATH", word));
      placement.path = rest;
  }
  return placement;
}

std::vector<StackSpec> NameStacks(const std::vector<Placement>& placements) {
  std::map<std::string, int> numbers;
  std::vector<StackSpec> stacks;
  for (const Placement& placement : placements) {
    // Some outputs show only the name, so it says that the stack is simulated, and which
    // hardware.
    const std::string kind = placement.kind == Kind::kSimulate
                                 ? "sim-" + placement.model
                                 : std::string(NameOf(placement.kind));
    stacks.push_back({fmt::format("{}-{}", kind, ++numbers[kind]), placement});
  }
  return stacks;
}

}  // namespace tickstack::loadtest
