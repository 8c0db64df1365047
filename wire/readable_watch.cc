#include "wire/readable_watch.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <utility>

namespace tickstack::wire {

struct ReadableWatch::Impl : std::enable_shared_from_this<ReadableWatch::Impl> {
  Impl(boost::asio::io_context& context, int fd, std::function<void()> call)
      : descriptor(context, fd), function(std::move(call)) {}

  void Wait() {
    descriptor.async_wait(boost::asio::posix::descriptor_base::wait_read,
                          [weak = weak_from_this()](const boost::system::error_code& error) {
                            const std::shared_ptr<Impl> self = weak.lock();
                            if (error || self == nullptr || self->is_over) return;
                            self->function();
                            if (!self->is_over) self->Wait();
                          });
  }

  boost::asio::posix::stream_descriptor descriptor;
  const std::function<void()> function;
  bool is_over = false;
};

ReadableWatch::ReadableWatch(EventLoop& loop, int fd, std::function<void()> function)
    : impl_(std::make_shared<Impl>(loop.context(), fd, std::move(function))) {
  impl_->Wait();
}

// The owner closes the descriptor.
ReadableWatch::~ReadableWatch() {
  impl_->is_over = true;
  impl_->descriptor.release();
}

}  // namespace tickstack::wire
