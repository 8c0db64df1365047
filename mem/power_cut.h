#pragma once

// Simulates power cuts for tests: computes the content of a medium if the machine stopped at some
// flush or fence of a PersistentTier.
//
// Only what was flushed before the last fence is certainly durable. Any part of later stores may
// have reached the medium: caches write lines back at any time, and a line arrives in pieces of 8
// bytes.

#include <cstddef>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "mem/persistent_tier.h"

namespace tickstack::mem {

class PowerCut final : public Persistence {
 public:
  // Calls on_point before every flush and fence, and after every fence.
  explicit PowerCut(std::function<void(PowerCut&)> on_point) : on_point_(std::move(on_point)) {}

  void OnMapped(std::span<std::byte> file) override {
    live_ = file;
    durable_.assign(file.begin(), file.end());
  }
  void Flush(const std::byte* memory, size_t bytes) override {
    on_point_(*this);
    flushed_.push_back({memory, bytes});
  }
  absl::Status Fence() override {
    on_point_(*this);
    for (const std::span<const std::byte> range : flushed_) {
      // Write-backs are by line.
      const auto begin = static_cast<size_t>(range.data() - live_.data()) / kLine * kLine;
      const auto end = static_cast<size_t>(range.data() + range.size() - live_.data());
      const size_t bytes =
          std::min((end - begin + kLine - 1) / kLine * kLine, live_.size() - begin);
      std::memcpy(durable_.data() + begin, live_.data() + begin, bytes);
    }
    flushed_.clear();
    on_point_(*this);
    return absl::OkStatus();
  }

  // Returns the medium's content if the power fails now. Each word that is not certainly durable
  // has arrived with probability `arrived`.
  std::vector<std::byte> Image(double arrived, std::mt19937_64& rng) const {
    std::vector<std::byte> image = durable_;
    if (arrived <= 0) return image;
    constexpr size_t kBlock = 4096;
    for (size_t at = 0; at < image.size(); at += kBlock) {
      if (std::memcmp(image.data() + at, live_.data() + at, kBlock) == 0) continue;
      for (size_t word = at; word < at + kBlock; word += 8) {
        if (arrived < 1 && std::generate_canonical<double, 32>(rng) >= arrived) continue;
        std::memcpy(image.data() + word, live_.data() + word, 8);
      }
    }
    return image;
  }

 private:
  static constexpr size_t kLine = 64;
  const std::function<void(PowerCut&)> on_point_;
  std::span<std::byte> live_;
  std::vector<std::byte> durable_;
  std::vector<std::span<const std::byte>> flushed_;
};

}  // namespace tickstack::mem
