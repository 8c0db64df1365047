#pragma once

// Functions as values: a built-in, a function of the process, a lambda, a projection (a function
// with some of its arguments), a derived function (an iterator on something that can be applied), a
// composition.
//
// They are immutable and shared: copying one increments a reference count. A lambda owns its parsed
// statements, so a function outlives the text of its request.
//
// Functions hold functions and values, so a loop could build a chain of them whose destruction
// overflows the stack. Code that makes a function states its depth, at most kMaxFunctionDepth.

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

  std::string source;                   // From { to }.
  std::string space = ".";              // Namespace of the names that it does not assign.
  std::vector<std::string> parameters;  // At most kMaxParameters; x, y, z if they are implicit.
  std::vector<std::string> locals;      // Other names that it assigns.
  std::vector<std::unique_ptr<Node>> statements;  // nullptr: an empty one.
  size_t nodes = 0;                               // Approximate number, for the cost of holding it.
};

inline constexpr size_t kMaxParameters = 8;
inline constexpr int kMaxFunctionDepth = 100;

// The iterators, in the order of their numbers on the wire.
enum class Iterator : uint8_t {
  kEach,       // f'
  kOver,       // f/
  kScan,       // f\ -
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

// Returns the number of arguments that complete it: fewer make a projection.
size_t RankOf(const Function& function);

}  // namespace tickstack::query
