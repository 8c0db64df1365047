#pragma once

// Where the rdbs of a stack keep their rows, as the command line says it:
//
//   dram[:COUNT]              memory of the machine; COUNT rdbs, 1 if not given
//   filesystem:PATH[:COUNT]   files of a directory: a DAX mount, tmpfs, a disk
//   persistent:PATH[:COUNT]   the same, rows that survive a restart
//   numa:NODE[:COUNT]         memory of another node, CXL for example
//   simulate:MODEL:PATH[:COUNT]   files of a directory, as slow as a model of other hardware
//                             says (mem/medium_model.h): SIMULATED
//   hybrid:FILE[:COUNT]       as [tier] and [placement] of a stack's file say
//   FILE.toml                 the stack of a file, with its rdbs
//
// `pmem:PATH` is filesystem:PATH.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack::loadtest {

struct Placement {
  enum class Kind { kDram, kFilesystem, kPersistent, kNuma, kSimulate, kHybrid, kFile };
  Kind kind = Kind::kDram;
  std::string path;   // A directory, or a file.
  std::string model;  // Model of a kSimulate.
  int node = -1;
  int rdbs = 1;      // Not known for a kFile, which has its own number.
  std::string text;  // As it was given.

  // Whether rows live in files of `path` that are made for the run.
  bool in_directory() const {
    return kind == Kind::kFilesystem || kind == Kind::kPersistent || kind == Kind::kSimulate;
  }
};

inline constexpr int kRdbsMax = 100;  // Of a stack.

std::string_view NameOf(Placement::Kind kind);

// kInvalidArgument with the text, found and expected.
absl::StatusOr<Placement> ParsePlacement(std::string_view text);

struct StackSpec {
  std::string name;  // `dram-1`, `filesystem-2`, `sim-optane-dc-1`: by kind, numbered.
  Placement placement;
};
std::vector<StackSpec> NameStacks(const std::vector<Placement>& placements);

}  // namespace tickstack::loadtest
