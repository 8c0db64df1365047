#include "cli/hdb_checksum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "base/printable.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "disk/checksum_writer.h"

namespace tickstack::cli {

int RunHdbChecksum(const HdbChecksumOptions& options) {
  std::string directory = options.directory;
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  const size_t threads =
      options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  WorkerPool workers(threads - 1);  // The main thread is one of them.
  const absl::StatusOr<disk::ChecksumsWritten> written = disk::WriteChecksums(
      directory, {.accept_damage = options.accept_damage, .workers = &workers}, disk::Storage());
  if (!written.ok()) {
    fmt::print(stderr, "tickstack hdb checksum: {}\n", Message(written.status()));
    return 1;
  }
  for (const std::string& error : written->errors) {
    fmt::print(stderr, "tickstack hdb checksum: {}\n", error);
  }
  fmt::print("{}: {} checksum files written, {} were right, {} not written, {} bytes read\n",
             Printable(directory), written->written, written->unchanged, written->errors.size(),
             written->bytes);
  if (written->written > 0) {
    fmt::print(stderr, "a running hdb uses them after it reloads: send it `\\l .`\n");
  }
  return written->errors.empty() ? 0 : 1;
}

}  // namespace tickstack::cli
