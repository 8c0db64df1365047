#include "feed/market/dbn/dbn_publishers.h"

#include <iterator>

namespace tickstack::feed::market {
namespace {

// By number, from 0, which is no publisher. The comments give the first number of a line.
// clang-format off
constexpr std::string_view kDbnVenues[] = {
    "", "GLBX", "XNAS", "XBOS", "XPSX", "BATS", "BATY", "EDGA", "EDGX", "XNYS",  // 0
    "XCIS", "XASE", "XCHI", "XCIS", "XCIS", "MEMX", "EPRL", "FINN", "FINC", "FINY",  // 10
    "AMXO", "XBOX", "XCBO", "EMLD", "EDGO", "GMNI", "XISX", "MCRY", "XMIO", "ARCO",  // 20
    "OPRA", "MPRL", "XNDQ", "XBXO", "C2OX", "XPHL", "BATO", "MXOP", "IEXG", "XCHI",  // 30
    "XCIS", "IEXG", "EPRL", "ARCX", "XNYS", "XNYS", "XNAS", "XNAS", "XCHI", "XCIS",  // 40
    "IEXG", "EPRL", "XNAS", "XNYS", "FINN", "FINY", "FINC", "IFEU", "NDEX", "DBEQ",  // 50
    "EQUS", "SPHR", "XCHI", "XCIS", "IEXG", "EPRL", "XNAS", "XNYS", "FINN", "FINY",  // 60
    "FINC", "BATS", "BATY", "EDGA", "EDGX", "XBOS", "XPSX", "MEMX", "XASE", "ARCX",  // 70
    "LTSE", "XNAS", "FINN", "FINC", "XOFF", "XOFF", "XBOS", "XPSX", "XBOS", "XPSX",  // 80
    "EQUS", "XCIS", "XNYS", "EQUS", "EQUS", "EQUS", "EQUS", "IFUS", "XOFF", "IFLL",  // 90
    "XOFF", "XEUR", "XEEE", "XOFF", "XOFF", "XCBF", "XOFF", "OCEA",  // 100
};
// clang-format on

}  // namespace

std::string_view DbnVenue(uint16_t publisher) {
  return publisher < std::size(kDbnVenues) ? kDbnVenues[publisher] : std::string_view();
}

}  // namespace tickstack::feed::market
