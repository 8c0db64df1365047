#pragma once

// Connections that are the only one on which a process publishes, by the name that it gave.
//
// A process that has died, or whose connection broke, may have sent rows that the tickerplant has
// not read yet. Rows of its successor would be logged before them, so that old values of a key
// replaced new ones. Hence a new publisher's predecessor is closed, with what it sent, before the
// answer to `.u.publisher`.
//
// Threads: one owner.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tickstack::tickerplant {

class Publishers {
 public:
  // Registers a connection as the publisher `name`; it has one name at a time. Returns the
  // connection that was the publisher until now, which the caller closes.
  std::optional<uint64_t> Replace(std::string_view name, uint64_t connection) {
    std::optional<uint64_t> before;
    std::erase_if(publishers_, [&](const Publisher& each) {
      if (each.name == name && each.connection != connection) before = each.connection;
      return each.name == name || each.connection == connection;
    });
    publishers_.push_back({std::string(name), connection});
    return before;
  }
  void OnConnectionGone(uint64_t connection) {
    std::erase_if(publishers_,
                  [&](const Publisher& each) { return each.connection == connection; });
  }

 private:
  struct Publisher {
    std::string name;
    uint64_t connection;
  };
  std::vector<Publisher> publishers_;
};

}  // namespace tickstack::tickerplant
