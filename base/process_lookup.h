#pragma once

// Names the process that has a port, a socket or a locked file, for error messages: "port 5011 is
// in use by tickstack rdb (pid 1234)". Linux only, from /proc. Best effort: what belongs to other
// users cannot be looked up without permission, and is "another process".
//
// Cost: reads /proc of every process, some ms. For a path that ends in an error.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tickstack {

// The process that listens on a TCP port, on any address.
std::string DescribePortHolder(uint16_t port);
// The process that listens on a Unix socket: a path, or `@NAME` for an abstract one.
std::string DescribeUnixSocketHolder(std::string_view name);
// The process that holds a lock on the file.
std::string DescribeLockHolder(const std::string& path, ino_t inode);

// "tickstack rdb (pid 1234)": the program, what it was started as if it is ours, and the number.
std::string DescribeProcess(pid_t pid);

}  // namespace tickstack
