#pragma once

// `tickstack hdb checksum DIR`: writes the checksums of a database or of one table
// (disk/checksum_writer.h), after kdb+ wrote or changed its files.

#include <cstddef>
#include <string>

namespace tickstack::cli {

struct HdbChecksumOptions {
  std::string directory;
  bool accept_damage = false;  // True: damaged files get new checksums.
  size_t threads = 0;          // 0: one for each core.
};

// Prints totals to stdout, errors to stderr. Returns the exit code: 1 if any table or domain was
// left without new checksums. Threads: the main one.
int RunHdbChecksum(const HdbChecksumOptions& options);

}  // namespace tickstack::cli
