#include "serve/forwarded_answer.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

namespace tickstack::serve {

class ForwardedAnswer::State {
 public:
  explicit State(size_t bytes) : total_bytes_(bytes), missing_(bytes) {}

  // Both return whether the stream waits for this.
  bool Add(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) {
    const std::lock_guard lock(mutex_);
    missing_ -= bytes.size();
    arrived_.push_back({bytes, owner});
    return std::exchange(waits_, false);
  }
  bool End() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    return missing_ > 0 && std::exchange(waits_, false);
  }

  wire::AnswerStream::Piece Next(size_t bytes_max) {
    const std::lock_guard lock(mutex_);
    if (arrived_.empty()) {
      waits_ = missing_ > 0 && !ended_;
      return {};
    }
    Bytes& first = arrived_.front();
    wire::AnswerStream::Piece piece;
    piece.raw = first.bytes.first(std::min(bytes_max, first.bytes.size()));
    piece.owner = first.owner;
    first.bytes = first.bytes.subspan(piece.raw.size());
    if (first.bytes.empty()) arrived_.pop_front();
    return piece;
  }

  // After Next has returned nothing.
  wire::AnswerStream::State state() const {
    const std::lock_guard lock(mutex_);
    // What has arrived since is found by the flush that its arrival causes.
    if (missing_ == 0 && arrived_.empty()) return wire::AnswerStream::State::kEnded;
    return ended_ && arrived_.empty() ? wire::AnswerStream::State::kBroken
                                      : wire::AnswerStream::State::kWaits;
  }

  size_t total_bytes() const { return total_bytes_; }

 private:
  struct Bytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
  };

  const size_t total_bytes_;
  mutable std::mutex mutex_;
  std::deque<Bytes> arrived_;  // The following are guarded by mutex_.
  size_t missing_;             // Bytes that have not arrived.
  bool ended_ = false;         // Nothing more will arrive.
  bool waits_ = false;         // The stream has found nothing, and no `wake` has followed.
};

class ForwardedAnswer::Stream final : public wire::AnswerStream {
 public:
  explicit Stream(std::shared_ptr<ForwardedAnswer::State> state) : state_(std::move(state)) {}
  Piece Next(size_t bytes_max) override { return state_->Next(bytes_max); }
  State state() const override { return state_->state(); }
  size_t total_bytes() const override { return state_->total_bytes(); }

 private:
  const std::shared_ptr<ForwardedAnswer::State> state_;
};

ForwardedAnswer::ForwardedAnswer(size_t bytes, std::function<void()> wake)
    : state_(std::make_shared<State>(bytes)), wake_(std::move(wake)) {}

ForwardedAnswer::~ForwardedAnswer() {
  if (state_->End()) wake_();
}

std::unique_ptr<wire::AnswerStream> ForwardedAnswer::MakeStream() const {
  return std::make_unique<Stream>(state_);
}

void ForwardedAnswer::Add(std::span<const std::byte> bytes,
                          const std::shared_ptr<const void>& owner) {
  if (state_->Add(bytes, owner)) wake_();
}

}  // namespace tickstack::serve
