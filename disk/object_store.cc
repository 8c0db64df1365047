#include "disk/object_store.h"

#include <mutex>
#include <utility>

namespace tickstack::disk {
namespace {

std::mutex object_store_mutex;
std::shared_ptr<ObjectStore>& StoreOfProcess() {
  static auto* const store = new std::shared_ptr<ObjectStore>();  // Outlives static objects.
  return *store;
}
thread_local const WaitCheck* innermost_check = nullptr;

}  // namespace

void SetObjectStore(std::shared_ptr<ObjectStore> store) {
  const std::lock_guard lock(object_store_mutex);
  StoreOfProcess() = std::move(store);
}

std::shared_ptr<ObjectStore> GetObjectStore() {
  const std::lock_guard lock(object_store_mutex);
  return StoreOfProcess();
}

WaitCheck::WaitCheck(Check check) : check_(check), outer_(innermost_check) {
  innermost_check = this;
}
WaitCheck::~WaitCheck() { innermost_check = outer_; }

absl::Status WaitCheck::Now() {
  return innermost_check == nullptr ? absl::OkStatus() : innermost_check->check_();
}

}  // namespace tickstack::disk
