#pragma once

// The names that a client keeps from one request to the next, while it is connected. Other clients
// do not see them.
//
//   request 1:  f:{x*2}        a variable of the request, kept when it ends
//   request 2:  f 21           a variable of this request from the start
//
// Values are kept as copies in DRAM, so they hold neither old rows of a captured table nor scratch
// memory. A value that does not fit is not kept; using it is the error `limit`.
//
// Threads: one request at a time. The thread that runs a client's next request synchronizes with
// the end of the previous one.

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
  static constexpr size_t kMaxBytes = size_t{16} << 20;  // Sum over all names of a client.

  // Makes the names variables of a request. Cost: a few ns per name; nothing is copied.
  absl::Status Load(Frame& request) const;

  // A request's changes, in a form that outlives its memory. Made within the request's evaluation.
  struct Change {
    std::string name;
    bool is_view = false;
    std::string encoded;  // Empty if the value is too large to be kept.
    size_t bytes = 0;
  };
  std::vector<Change> ChangesOf(const Frame& request, Budget& budget) const;
  // Keeps the changes after the evaluation.
  void Keep(std::vector<Change> changes);

  // Converts an error about an unknown name to `limit` if the name's value was too large to be
  // kept.
  absl::Status Explain(absl::Status why) const;

 private:
  struct Kept {
    Term term;
    bool is_view = false;
    size_t bytes = 0;
  };
  void Forget(const std::string& name);

  std::map<std::string, Kept, std::less<>> kept_;
  std::map<std::string, size_t, std::less<>> too_large_;
  size_t bytes_ = 0;
};

}  // namespace tickstack::query
