#pragma once

// Flips bits of files. A reader of such a file must return the rows that were written, or report
// that the file is damaged; it must never return other rows.

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "tests/simulate/random.h"
#include "tests/simulate/stack.h"

namespace tickstack::simulate {

// Flips a bit of a file, bypassing the simulated disk. Flips it back when it is destroyed, unless
// the byte has changed or the path names another file by then.
class FlippedBit {
 public:
  FlippedBit(std::string path, uint64_t byte, unsigned bit);
  ~FlippedBit();
  FlippedBit(const FlippedBit&) = delete;
  FlippedBit& operator=(const FlippedBit&) = delete;

  // Flips a random bit of a file that is not empty.
  static std::unique_ptr<FlippedBit> Draw(const std::string& path, Random& random);
  const std::string& where() const { return where_; }

 private:
  const std::string path_;
  const off_t byte_;
  const char mask_;
  const std::string where_;
  ino_t inode_ = 0;
  char flipped_ = 0;
};

// Flips bits of copies of a life's files, one at a time, and reads the copies: `flips` bits of
// logs, indexes and states, and as many of the database. The copies are in the current directory,
// outside of the simulated disk. Logs that were open before the machine lost its page cache are
// left out: no recovery has settled what a power cut left of them. Returns what was wrong; empty if
// nothing was.
std::string FindWrongRowsInDamagedFiles(const StackOptions& options, const Host& machine,
                                        Random& random, int flips);

}  // namespace tickstack::simulate
