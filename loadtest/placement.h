#pragma once

// Where the rdbs of a stack keep their rows. The command line writes a placement as:
//
//   dram[:COUNT]              memory of the machine; COUNT rdbs, 1 if not given
//   filesystem:PATH[:COUNT]   files in a directory: a DAX mount, tmpfs, a disk
//   persistent:PATH[:COUNT]   the same, with rows that survive a restart
//   numa:NODE[:COUNT]         memory of another node, CXL for example
//   simulate:MODEL:PATH[:COUNT]   files in a directory, slowed down to the speed of other hardware
//                             by a model (mem/medium_model.h): SIMULATED
//   hybrid:FILE[:COUNT]       the [tier] and [placement] tables of a stack's file
//   FILE.toml                 the stack of a file, with its own rdbs
//
// `pmem:PATH` means filesystem:PATH.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack::loadtest {

struct Placement {
  enum class Kind { kDram, kFilesystem, kPersistent, kNuma, kSimulate, kHybrid, kFile };
  Kind kind = Kind::kDram;
  std::string path;   // A directory or a file.
  std::string model;  // Only for kSimulate.
  int node = -1;
  int rdbs = 1;      // Unknown for kFile, whose file has the number.
  std::string text;  // The placement as it was written.

  // True if rows are in files below `path` that are created for the run.
  bool in_directory() const {
    return kind == Kind::kFilesystem || kind == Kind::kPersistent || kind == Kind::kSimulate;
  }
};

inline constexpr int kRdbsMax = 100;  // Largest number of rdbs in a stack.

std::string_view NameOf(Placement::Kind kind);

// kInvalidArgument; the message has the text, what was found and what was expected.
absl::StatusOr<Placement> ParsePlacement(std::string_view text);

struct StackSpec {
  std::string name;  // `dram-1`, `filesystem-2`, `sim-optane-dc-1`: the kind and a number.
  Placement placement;
};
std::vector<StackSpec> NameStacks(const std::vector<Placement>& placements);

}  // namespace tickstack::loadtest
