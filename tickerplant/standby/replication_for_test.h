#pragma once

// The replication of a leader without standbys, for tests.

#include <cstdint>
#include <optional>

#include "tickerplant/standby/replication.h"

namespace tickstack::tickerplant {

class FakeReplication final : public Replication {
 public:
  explicit FakeReplication(uint64_t epoch) : epoch_(epoch) {}

  bool acknowledges = true;            // False: rows wait.
  bool settled = true;                 // What is_settled returns.
  int32_t offered_day = 0;             // The next day that was offered last; 0: none.
  std::optional<ReplicaPlace> logged;  // What OnLogged was told last.

  absl::Status Offer(ReplicaPlace, const tplog::TplogBlock&) override { return absl::OkStatus(); }
  bool HasRoom() const override { return true; }
  bool IsAcknowledged(ReplicaPlace) const override { return acknowledges; }
  void OnLogged(ReplicaPlace place) override { logged = place; }
  void Tick() override {}
  void OfferNextDay(int32_t, int32_t next) override { offered_day = next; }
  bool is_settled() override { return settled; }
  bool has_enough() const override { return true; }
  bool is_cut_off() const override { return false; }
  uint64_t epoch() const override { return epoch_; }
  size_t in_flight_bytes() const override { return 0; }
  void AddStats(SymbolVector&, std::vector<Value>&) const override {}

 private:
  const uint64_t epoch_;
};

}  // namespace tickstack::tickerplant
