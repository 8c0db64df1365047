#include "serve/query_settings.h"

#include <algorithm>
#include <thread>

namespace tickstack::serve {

QueryServiceOptions ServiceOptionsOf(const QuerySettings& settings,
                                     const wire::ListenerOptions& listener) {
  QueryServiceOptions service;
  service.listener = listener;
  service.threads = settings.query_threads;
  service.helpers = settings.query_helpers >= 0
                        ? static_cast<size_t>(settings.query_helpers)
                        : std::max(1u, std::thread::hardware_concurrency()) - 1;
  service.nice = settings.query_nice;
  service.timeout_ns = static_cast<int64_t>(settings.query_timeout_s * 1e9);
  service.slow_ns = static_cast<int64_t>(settings.query_slow_ms * 1e6);
  service.max_result_bytes = settings.query_max_bytes;
  service.max_unread_bytes = settings.query_unread_bytes;
  service.unread_timeout_ns = static_cast<int64_t>(settings.query_unread_timeout_s * 1e9);
  return service;
}

}  // namespace tickstack::serve
