#pragma once

// The kinds of sources from which a feed can take rows: chosen by `source = "lean"` in stack.toml,
// or by `--source lean`.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "feed/sources/source_options.h"

namespace tickstack::feed {

struct SourceKind {
  std::string_view name;
  std::unique_ptr<SourceOptions> (*make_options)();  // Returns the default options.
};

std::span<const SourceKind> SourceKinds();

// The options of every kind of source, and the kind that is chosen. Options of the other kinds are
// kept too: stack.toml may set options of several kinds, and a flag then chooses one. Copies share
// the option objects.
class SourceSettings {
 public:
  SourceSettings();  // Chooses `sim`.

  // Chooses a kind by its name. kInvalidArgument, with a list of the known names, if it is unknown.
  absl::Status Choose(std::string_view kind);
  const std::string& kind() const { return kind_; }

  SourceOptions& chosen() const;
  // Returns the options of all kinds, in the order of SourceKinds().
  const std::vector<std::shared_ptr<SourceOptions>>& all() const { return all_; }

 private:
  std::string kind_ = "sim";
  std::vector<std::shared_ptr<SourceOptions>> all_;
};

}  // namespace tickstack::feed
