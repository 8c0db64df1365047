#include "aggengine/step_history.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tickstack::aggengine {
namespace {

// Returns whether each of up to four ordered times differs from the one before it.
bool AreApart(int64_t before_ns, std::span<const int64_t> times) {
  const size_t last = times.size() - 1;
  bool apart = times[0] != before_ns;
  for (size_t i = 1; i < 4; ++i) {
    apart &= i > last || times[std::min(i, last)] != times[std::min(i - 1, last)];
  }
  return apart;
}

}  // namespace

StepHistory::Change StepHistory::Insert(uint32_t slot, int64_t time_ns, double value) {
  if (slot >= lines_.size()) lines_.resize(slot + 1);
  Line& line = lines_[slot];
  const Step step{time_ns, value};
  if (line.any && time_ns <= line.newest.time_ns) {
    CloseEnd(line);
    const Change late = InsertLate(line, step);
    OpenEnd(line);
    return late;
  }
  Change change;
  if (line.any) {
    change.before = line.newest;
    change.old = line.newest.value;
  }
  line.any = true;
  line.newest = step;
  if (line.next != line.end) {
    *line.next++ = step;
    return change;
  }
  CloseEnd(line);
  Append(line, step);
  OpenEnd(line);
  return change;
}

Step StepHistory::AppendRun(uint32_t slot, std::span<const int64_t> times,
                            std::span<const double> values) {
  Line& line = lines_[slot];
  const Step before = line.newest;
  // Most runs have up to four rows, and the processor cannot guess how many: four are written, and
  // those behind the last one are not used.
  const size_t last = times.size() - 1;
  const bool has_room = line.end - line.next >= 4;
  if (last < 4 && has_room && AreApart(line.newest.time_ns, times)) {
    for (size_t i = 0; i < 4; ++i) {
      line.next[i] = {times[std::min(i, last)], values[std::min(i, last)]};
    }
    line.next += times.size();
    line.newest = {times[last], values[last]};
    return before;
  }
  for (size_t i = 0; i < times.size(); ++i) {
    if (times[i] == line.newest.time_ns || line.next == line.end) [[unlikely]] {
      Insert(slot, times[i], values[i]);
      continue;
    }
    line.newest = {times[i], values[i]};
    *line.next++ = line.newest;
  }
  return before;
}

void StepHistory::CloseEnd(Line& line) {
  if (line.blocks.empty()) return;
  Block& last = line.blocks.back();
  last.count = static_cast<uint32_t>(line.next - last.steps);
}

void StepHistory::OpenEnd(Line& line) {
  line.next = line.end = nullptr;
  if (line.blocks.empty()) return;
  const Block& last = line.blocks.back();
  line.next = last.steps + last.count;
  line.end = last.steps + last.capacity;
}

// Called when the last block is full or there is none.
void StepHistory::Append(Line& line, Step step) {
  // Small first, because most symbols have few rows; one that filled a small block is likely to
  // fill a large one.
  std::optional<Block> block = NewBlock(line.blocks.empty() ? kSmallBlock : kLargeBlock);
  if (!block) {
    if (line.blocks.empty()) {
      line.forgetful = true;
      return;
    }
    block = line.blocks.front();
    line.blocks.erase(line.blocks.begin());
    line.forgetful = true;
  }
  block->steps[0] = step;
  block->count = 1;
  line.blocks.push_back(*block);
}

StepHistory::Change StepHistory::InsertLate(Line& line, Step step) {
  Change change;
  const auto behind = std::upper_bound(
      line.blocks.begin(), line.blocks.end(), step.time_ns,
      [](int64_t time_ns, const Block& block) { return time_ns < block.steps[0].time_ns; });
  if (behind == line.blocks.begin()) {
    // The time is before all steps that are kept.
    if (line.forgetful || line.blocks.empty()) {
      // The newest step is known even if no block is left to hold it.
      change.replaced = step.time_ns == line.newest.time_ns;
      change.forgotten = !change.replaced;
      if (change.replaced) line.newest = step;
      return change;
    }
    change.after = line.blocks.front().steps[0];
    if (!Place(line, 0, 0, step)) Forget(line);
    return change;
  }
  const auto number = static_cast<size_t>(behind - line.blocks.begin()) - 1;
  Block& block = line.blocks[number];
  const auto at = static_cast<uint32_t>(
      std::upper_bound(block.steps, block.steps + block.count, step.time_ns,
                       [](int64_t time_ns, const Step& kept) { return time_ns < kept.time_ns; }) -
      block.steps);  // At least 1, because the block begins at or before the step.
  Step& previous = block.steps[at - 1];
  if (at < block.count) {
    change.after = block.steps[at];
  } else if (behind != line.blocks.end()) {
    change.after = behind->steps[0];
  }
  change.old = previous.value;
  if (previous.time_ns == step.time_ns) {
    change.replaced = true;
    previous.value = step.value;
    if (!change.after) line.newest = step;
    return change;
  }
  change.before = previous;
  if (!Place(line, number, at, step)) Forget(line);
  return change;
}

// Puts a step at position `at` of a block, and splits the block if it is full. Returns false if
// there is no memory for that.
bool StepHistory::Place(Line& line, size_t number, uint32_t at, Step step) {
  if (line.blocks[number].count == line.blocks[number].capacity) {
    std::optional<Block> upper = NewBlock(kLargeBlock);
    if (!upper) return false;
    Block& lower = line.blocks[number];
    const uint32_t half = lower.count / 2;
    upper->count = lower.count - half;
    std::memcpy(upper->steps, lower.steps + half, upper->count * sizeof(Step));
    lower.count = half;
    line.blocks.insert(line.blocks.begin() + static_cast<ptrdiff_t>(number) + 1, *upper);
    if (at > half) {
      ++number;
      at -= half;
    }
  }
  Block& block = line.blocks[number];
  std::memmove(block.steps + at + 1, block.steps + at, (block.count - at) * sizeof(Step));
  block.steps[at] = step;
  ++block.count;
  return true;
}

// Drops the whole line, because a line that lacks a step must not pass for a complete one.
void StepHistory::Forget(Line& line) {
  for (const Block& block : line.blocks) FreeBlock(block);
  line.blocks.clear();
  line.forgetful = true;
}

std::optional<StepHistory::Block> StepHistory::NewBlock(uint32_t capacity) {
  const size_t size = capacity * sizeof(Step);
  if (bytes_ + size > bytes_max_) return std::nullopt;
  absl::StatusOr<std::byte*> memory = tier_->Allocate(size);
  if (!memory.ok()) return std::nullopt;
  bytes_ += size;
  return Block{reinterpret_cast<Step*>(*memory), 0, capacity};
}

void StepHistory::FreeBlock(const Block& block) {
  const size_t size = block.capacity * sizeof(Step);
  tier_->Free(reinterpret_cast<std::byte*>(block.steps), size);
  bytes_ -= size;
}

void StepHistory::Clear() {
  for (const Line& line : lines_) {
    for (const Block& block : line.blocks) FreeBlock(block);
  }
  lines_.clear();
}

size_t StepHistory::index_bytes() const {
  size_t bytes = lines_.capacity() * sizeof(Line);
  for (const Line& line : lines_) bytes += line.blocks.capacity() * sizeof(Block);
  return bytes;
}

}  // namespace tickstack::aggengine
