#pragma once

// Functions as values. A function is one of these:
//
//   built-in              a function of q
//   process function      a function of the process, such as `.u.sub`
//   lambda                {x+1}
//   projection            f[1;]: a function with some of its arguments
//   derived function      f/ or f': an iterator on something that can be applied
//   composition           '[f;g]
//
// Functions are immutable and shared: copying one increments a reference count. A lambda owns its
// parsed statements, so it outlives the text of its request.
//
// Functions hold functions and values, so a loop could build a chain of them whose destruction
// overflows the stack. Therefore each function records its depth, which is at most
// kMaxFunctionDepth.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tickstack::query {

struct Builtin;
struct Composition;
struct Derived;
struct Node;
struct Projection;

// A function of the process, such as `.u.sub`, by its name.
struct ProcessFunction {
  std::string name;
};

// {[a;b] ...}
struct Lambda {
  Lambda();
  ~Lambda();
  Lambda(const Lambda&) = delete;
  Lambda& operator=(const Lambda&) = delete;

  std::string source;                   // The text from { to }.
  std::string space = ".";              // Namespace of its names that are not local.
  std::vector<std::string> parameters;  // At most kMaxParameters; x, y and z if not declared.
  std::vector<std::string> locals;      // Names that it assigns, other than parameters.
  std::vector<std::unique_ptr<Node>> statements;  // nullptr for an empty statement.
  size_t nodes = 0;  // Approximate number of nodes, from which its memory is estimated.
};

inline constexpr size_t kMaxParameters = 8;
inline constexpr int kMaxFunctionDepth = 100;

// The iterators, in the order of their numbers on the wire.
enum class Iterator : uint8_t {
  kEach,       // f'
  kOver,       // f/
  kScan,       // f\ (backslash)
  kPrior,      // f':
  kEachRight,  // f/:
  kEachLeft,   // f\:
};
std::string_view TextOf(Iterator iterator);
std::optional<Iterator> FindIterator(std::string_view text);

using Function =
    std::variant<const Builtin*, std::shared_ptr<const Lambda>, std::shared_ptr<const Projection>,
                 std::shared_ptr<const Derived>, std::shared_ptr<const Composition>,
                 std::shared_ptr<const ProcessFunction>>;

// Returns the number of arguments that a function takes. With fewer arguments it becomes a
// projection.
size_t RankOf(const Function& function);

}  // namespace tickstack::query
