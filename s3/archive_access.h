#pragma once

// Gives a process access to the object store of a database's archived tables: the keys of
// `[hdb.tiers]`, as the hdb and the tools for databases use them.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "disk/object_store.h"
#include "disk/table_archive.h"

namespace tickstack::s3 {

struct ArchiveSettings {
  std::string store;  // URL of the S3 service; empty: this process has no store.
  std::string bucket;
  std::string prefix;  // What the keys of objects begin with.
  std::string region = "us-east-1";
  std::string credentials;  // Path of a file; empty: the environment (s3_credentials.h).
  std::chrono::milliseconds timeout{30'000};  // S3Options::timeout.
  size_t requests = 8;                        // How many run at the same time.
  size_t cache_bytes = size_t{1} << 30;       // Memory for columns that were fetched.
  int older_than_days = 0;  // What `tickstack hdb archive` moves; 0: nothing without its flag.
};

// Opens the store. kFailedPrecondition if the settings name none; kInvalidArgument for a prefix
// with characters that keys must not have; errors of OpenS3Store and LoadS3Credentials.
absl::StatusOr<std::shared_ptr<disk::ObjectStore>> OpenStoreOf(const ArchiveSettings& settings);

// While it exists, this process reads archived tables. Its destructor ends all fetches. One per
// process, created before and destroyed after the threads that read tables.
class ArchiveAccess {
 public:
  ArchiveAccess() = default;
  ~ArchiveAccess();
  ArchiveAccess(const ArchiveAccess&) = delete;
  ArchiveAccess& operator=(const ArchiveAccess&) = delete;

  // Opens the store and sets up the cache. Does nothing if the settings name no store. Errors: as
  // for OpenStoreOf.
  absl::Status Begin(const ArchiveSettings& settings);
  // nullptr without a store.
  const std::shared_ptr<disk::ObjectStore>& store() const { return store_; }

 private:
  std::shared_ptr<disk::ObjectStore> store_;
};

}  // namespace tickstack::s3
