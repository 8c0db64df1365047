#include "table/replaced_memory.h"

#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace tickstack {

struct ReplacedMemory::Shared {
  // Forgets a lease, and frees what only this one and earlier ones could read.
  void End(uint64_t lease) {
    std::vector<Piece> unused;  // Freed without the mutex: tiers have locks of their own.
    {
      const std::lock_guard lock(mutex);
      held.erase(lease);
      const uint64_t oldest = held.empty() ? UINT64_MAX : *held.begin();
      while (!waiting.empty() && waiting.front().first < oldest) {
        const Piece& piece = waiting.front().second;
        waiting_bytes[piece.tier] -= mem::Tier::RoundedBytes(piece.bytes);
        unused.push_back(piece);
        waiting.pop_front();
      }
    }
    for (const Piece& piece : unused) piece.tier->Free(piece.memory, piece.bytes);
  }

  std::mutex mutex;  // Guards all members.
  std::set<uint64_t> held;
  std::deque<std::pair<uint64_t, Piece>> waiting;  // With the last lease that may read the piece.
  std::map<const mem::Tier*, size_t> waiting_bytes;
};

struct ReplacedMemory::Lease {
  Lease(std::shared_ptr<Shared> of, uint64_t n) : shared(std::move(of)), number(n) {}
  ~Lease() { shared->End(number); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  const std::shared_ptr<Shared> shared;
  const uint64_t number;
};

ReplacedMemory::ReplacedMemory()
    : shared_(std::make_shared<Shared>()), current_(std::make_shared<const Lease>(shared_, 0)) {
  shared_->held.insert(0);
}

ReplacedMemory::~ReplacedMemory() = default;

std::shared_ptr<const void> ReplacedMemory::Take() const {
  const std::lock_guard lock(shared_->mutex);
  return current_;
}

void ReplacedMemory::Replace(std::vector<Piece> pieces) {
  std::shared_ptr<const Lease> last;  // Dropped without the mutex, which its end takes.
  const std::lock_guard lock(shared_->mutex);
  const uint64_t number = current_->number;
  for (const Piece& piece : pieces) {
    shared_->waiting.emplace_back(number, piece);
    shared_->waiting_bytes[piece.tier] += mem::Tier::RoundedBytes(piece.bytes);
  }
  shared_->held.insert(number + 1);
  last = std::exchange(current_, std::make_shared<const Lease>(shared_, number + 1));
}

size_t ReplacedMemory::WaitingBytes(const mem::Tier* tier) const {
  const std::lock_guard lock(shared_->mutex);
  const auto waiting = shared_->waiting_bytes.find(tier);
  return waiting == shared_->waiting_bytes.end() ? 0 : waiting->second;
}

}  // namespace tickstack
