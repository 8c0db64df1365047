#pragma once

// The kinds of sources that a feed can have: `source = "lean"` in stack.toml, `--source lean`.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "feed/source_options.h"

namespace tickstack::feed {

struct SourceKind {
  std::string_view name;
  std::unique_ptr<SourceOptions> (*make_options)();  // With their defaults.
};

std::span<const SourceKind> SourceKinds();

// The options of every kind, and which kind is chosen. Options of the other kinds are kept, so that
// a flag can choose another kind than the configuration. Copies share their options.
class SourceSettings {
 public:
  SourceSettings();  // Chooses `sim`.

  // kInvalidArgument, with the names that there are, for another name.
  absl::Status Choose(std::string_view kind);
  const std::string& kind() const { return kind_; }

  SourceOptions& chosen() const;
  // In the order of SourceKinds().
  const std::vector<std::shared_ptr<SourceOptions>>& all() const { return all_; }

 private:
  std::string kind_ = "sim";
  std::vector<std::shared_ptr<SourceOptions>> all_;
};

}  // namespace tickstack::feed
