#pragma once

// The replication of a leader without standbys, for tests.

#include "tickerplant/standby/replication.h"

namespace tickstack::tickerplant {

class FakeReplication final : public Replication {
 public:
  explicit FakeReplication(uint64_t epoch) : epoch_(epoch) {}

  bool acknowledges = true;  // False: rows wait.

  absl::Status Offer(ReplicaPlace, const tplog::TplogBlock&) override { return absl::OkStatus(); }
  bool HasRoom() const override { return true; }
  bool IsAcknowledged(ReplicaPlace) const override { return acknowledges; }
  void OnLogged(ReplicaPlace) override {}
  void Tick() override {}
  void OfferNextDay(int32_t, int32_t) override {}
  bool is_settled() override { return true; }
  bool has_enough() const override { return true; }
  bool is_cut_off() const override { return false; }
  uint64_t epoch() const override { return epoch_; }
  size_t in_flight_bytes() const override { return 0; }
  void AddStats(SymbolVector&, std::vector<Value>&) const override {}

 private:
  const uint64_t epoch_;
};

}  // namespace tickstack::tickerplant
