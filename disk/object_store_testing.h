#pragma once

// An object store in memory for tests, which can be lost, slow or wrong.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/status.h"
#include "disk/archived_bytes.h"
#include "disk/object_store.h"

namespace tickstack::disk {

// Threads: any, concurrently.
class MemoryStore : public ObjectStore {
 public:
  // Called before each request, with its verb: `put` or `get`. An error fails it.
  using Hook = std::function<absl::Status(std::string_view verb, const std::string& key)>;

  const std::string& name() const override { return name_; }
  absl::Status Put(const std::string& key, std::span<const std::byte> bytes) override {
    TS_RETURN_IF_ERROR(Call("put", key));
    const std::lock_guard lock(mutex_);
    objects_[key].assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return absl::OkStatus();
  }
  absl::Status Get(const std::string& key, uint64_t begin, std::span<std::byte> out,
                   const std::atomic<bool>* cancelled) override {
    const int running = running_.fetch_add(1) + 1;
    int most = running_max_.load();
    while (most < running && !running_max_.compare_exchange_weak(most, running)) {
    }
    const absl::Status status = GetNow(key, begin, out, cancelled);
    running_.fetch_sub(1);
    return status;
  }
  void SetHook(Hook hook) {
    const std::lock_guard lock(mutex_);
    hook_ = std::move(hook);
  }
  // How long each Get takes.
  void SetDelay(std::chrono::milliseconds delay) { delay_ms_.store(delay.count()); }
  std::vector<std::string> Keys() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> keys;
    for (const auto& [key, bytes] : objects_) keys.push_back(key);
    return keys;
  }
  // Removes all objects.
  void Clear() {
    const std::lock_guard lock(mutex_);
    objects_.clear();
  }
  void Remove(const std::string& key) {
    const std::lock_guard lock(mutex_);
    objects_.erase(key);
  }
  // Changes an object, such as one byte of it.
  void Change(const std::string& key, const std::function<void(std::string&)>& change) {
    const std::lock_guard lock(mutex_);
    change(objects_.at(key));
  }
  uint64_t gets() const { return gets_.load(); }
  uint64_t get_bytes_max() const { return get_bytes_max_.load(); }
  int running_max() const { return running_max_.load(); }

 private:
  absl::Status Call(std::string_view verb, const std::string& key) {
    Hook hook;
    {
      const std::lock_guard lock(mutex_);
      hook = hook_;
    }
    return hook ? hook(verb, key) : absl::OkStatus();
  }
  absl::Status GetNow(const std::string& key, uint64_t begin, std::span<std::byte> out,
                      const std::atomic<bool>* cancelled) {
    gets_.fetch_add(1);
    uint64_t most = get_bytes_max_.load();
    while (most < out.size() && !get_bytes_max_.compare_exchange_weak(most, out.size())) {
    }
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(delay_ms_.load());
    while (std::chrono::steady_clock::now() < until) {
      if (cancelled != nullptr && cancelled->load()) return absl::CancelledError("cancelled");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    TS_RETURN_IF_ERROR(Call("get", key));
    if (cancelled != nullptr && cancelled->load()) return absl::CancelledError("cancelled");
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(key);
    if (found == objects_.end()) return NotFound("{}/{}: no such object", name_, key);
    if (begin + out.size() > found->second.size()) {
      return DataLoss("{}/{}: {} bytes", name_, key, found->second.size());
    }
    std::copy_n(reinterpret_cast<const std::byte*>(found->second.data()) + begin, out.size(),
                out.data());
    return absl::OkStatus();
  }

  const std::string name_ = "s3://test";
  mutable std::mutex mutex_;
  std::map<std::string, std::string> objects_;  // Guarded by mutex_.
  Hook hook_;                                   // Guarded by mutex_.
  std::atomic<int64_t> delay_ms_{0};
  std::atomic<uint64_t> gets_{0}, get_bytes_max_{0};
  std::atomic<int> running_{0}, running_max_{0};
};

// Makes a MemoryStore the store of this process, with a cache of the default size.
class StoreOfTest {
 public:
  StoreOfTest() {
    SetObjectStore(store_);
    ArchiveCache::Instance().Configure(uint64_t{1} << 30, 4);
  }
  ~StoreOfTest() {
    ArchiveCache::Instance().Stop();
    SetObjectStore(nullptr);
  }
  StoreOfTest(const StoreOfTest&) = delete;
  StoreOfTest& operator=(const StoreOfTest&) = delete;
  MemoryStore& operator*() const { return *store_; }
  MemoryStore* operator->() const { return store_.get(); }
  const std::shared_ptr<MemoryStore>& shared() const { return store_; }

 private:
  const std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
};

}  // namespace tickstack::disk
