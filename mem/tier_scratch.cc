#include "mem/tier_scratch.h"

namespace tickstack::mem {

TierScratch::TierScratch(Tier* tier)
    : tier_(tier), name_(tier->Stats().name), capacity_bytes_(tier->Stats().capacity_bytes) {}

}  // namespace tickstack::mem
