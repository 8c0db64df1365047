#pragma once

// A store of objects, such as an S3 service, that holds column files of archived tables
// (table_archive.h). The process chooses its store once, at its start; s3/s3_store.h implements
// one.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace tickstack::disk {

// Threads: any, concurrently. Each call retries a bounded number of times and has a bounded
// duration. Errors name the store and the object: kNotFound if there is no such object,
// kPermissionDenied if the store refuses these credentials, kUnavailable if the store cannot be
// reached, does not answer in time, or reports an error of its own.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // Where its objects are, without credentials: `s3://bucket`. An archived table records it.
  virtual const std::string& name() const = 0;
  // Writes an object, and replaces an existing one. It is durable as far as the store promises.
  virtual absl::Status Put(const std::string& key, std::span<const std::byte> bytes) = 0;
  // Reads bytes [begin, begin + out.size()) of an object; `out` is not empty. kDataLoss if the
  // object has fewer bytes. Ends early, with kCancelled, when `cancelled` becomes true; nullptr:
  // cannot be cancelled.
  virtual absl::Status Get(const std::string& key, uint64_t begin, std::span<std::byte> out,
                           const std::atomic<bool>* cancelled) = 0;
};

// Sets the store of this process; nullptr: there is none, as at the start. Call it before other
// threads open tables.
void SetObjectStore(std::shared_ptr<ObjectStore> store);
std::shared_ptr<ObjectStore> GetObjectStore();

// While it exists, waits of its thread for an object store end with the error of `check`, which is
// called several times a second: a query's time is over, or its client has left.
class WaitCheck {
 public:
  using Check = absl::FunctionRef<absl::Status()>;
  explicit WaitCheck(Check check);
  ~WaitCheck();
  WaitCheck(const WaitCheck&) = delete;
  WaitCheck& operator=(const WaitCheck&) = delete;

  // Returns the error of the innermost check of this thread. OK if there is none.
  static absl::Status Now();

 private:
  const Check check_;
  const WaitCheck* const outer_;
};

}  // namespace tickstack::disk
