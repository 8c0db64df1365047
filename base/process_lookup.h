#pragma once

// Names the process that uses a port, a socket or a locked file, for error messages: "port 5011 is
// in use by tickstack rdb (pid 1234)". Linux only, from /proc. Best effort: without permission, a
// process of another user is "another process".
//
// Cost: some ms, since it reads /proc for every process. Use it in error paths only.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tickstack {

// Returns the process that listens on a TCP port, on any address.
std::string DescribePortHolder(uint16_t port);
// Returns the process that listens on a Unix socket: a path, or `@NAME` for an abstract one.
std::string DescribeUnixSocketHolder(std::string_view name);
// Returns the process that holds a lock on the file.
std::string DescribeLockHolder(const std::string& path, ino_t inode);

// Returns "tickstack rdb (pid 1234)": the program, its subcommand if it is tickstack, and its
// number.
std::string DescribeProcess(pid_t pid);

}  // namespace tickstack
