#pragma once

// The variables that a client keeps from one request to the next, while it is connected. Other
// clients do not see them.
//
//   request 1:  f:{x*2}        a variable of the request, kept when it ends
//   request 2:  f 21           a variable of this request from the start
//
// Values are kept as copies in DRAM, so they refer neither to a captured table nor to scratch
// memory. A value that is too large is not kept, and a later use of its name is the error `limit`.
//
// Threads: one request at a time. The caller makes sure that a client's request begins after the
// end of the previous one.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "query/language/variables.h"

namespace tickstack::query {

class KeptNames {
 public:
  static constexpr size_t kMaxBytes = size_t{16} << 20;  // For all names of a client together.

  bool Has(std::string_view name) const {
    return kept_.contains(name) || too_large_.contains(name);
  }
  // Adds the kept names to a request as variables. Cost: a few ns per name; values are not copied.
  absl::Status Load(Frame& request) const;

  // A variable that a request changed, in a form that outlives the request's memory.
  struct Change {
    std::string name;
    bool is_view = false;
    bool is_forgotten = false;
    std::string encoded;  // The value in wire format; empty if it is too large to be kept.
    size_t bytes = 0;
  };
  // Returns the changes of a request. Must be called within its evaluation.
  std::vector<Change> ChangesOf(const Frame& request, Budget& budget) const;
  // Keeps the changes. To be called after the evaluation.
  void Keep(std::vector<Change> changes);

  // Returns `limit` instead of an error about an unknown name if the name's value was too large to
  // be kept. Returns other errors unchanged.
  absl::Status Explain(absl::Status why) const;

 private:
  struct Kept {
    Term term;
    bool is_view = false;
    size_t bytes = 0;
  };
  void Forget(const std::string& name);

  std::map<std::string, Kept, std::less<>> kept_;
  std::map<std::string, size_t, std::less<>> too_large_;  // Bytes of values that are not kept.
  size_t bytes_ = 0;
};

}  // namespace tickstack::query
