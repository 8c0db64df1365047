#pragma once

// The memory that the unfinished messages of all clients of a server hold together.
//
// A connection counts here once its message has outgrown its first block, which every connection
// has (connection.h). If the bound is exceeded, connections are closed until it is not: those of
// the lowest class first, of these those of the user who holds most, and of these the largest.
//
// Threads: the loop's.

#include <cstddef>
#include <string>
#include <unordered_map>

#include "wire/places.h"

namespace tickstack::wire {

class Connection;

class UnfinishedMessages {
 public:
  explicit UnfinishedMessages(size_t bytes_max) : bytes_max_(bytes_max) {}

  // Sets what a connection holds. May close connections, also this one; then it holds nothing.
  void Set(Connection& connection, size_t bytes);
  // The connection holds nothing any more.
  void Remove(Connection& connection);
  // True if a connection whose message is complete may keep its large block for the next one.
  bool HasRoomForKept() const { return bytes_ <= bytes_max_ / 2; }
  size_t bytes() const { return bytes_; }

 private:
  Connection* Largest() const;

  const size_t bytes_max_;
  size_t bytes_ = 0;
  std::unordered_map<Connection*, size_t> held_;
};

}  // namespace tickstack::wire
