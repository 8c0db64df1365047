#include "mem/touch_pause.h"

namespace tickstack::mem {
namespace {

// One for the process, as its map is.
std::shared_mutex& Touching() {
  static std::shared_mutex mutex;
  return mutex;
}

}  // namespace

TouchPause::TouchPause() : lock_(Touching()) {}
TouchPermit::TouchPermit() : lock_(Touching()) {}

}  // namespace tickstack::mem
