#pragma once

// The pages that every process serves to browsers, and where they are.
//
// To add one: put its files into serve/page/, name them in serve/CMakeLists.txt and
// serve/page/assets.h, and add a row with the path of each to page_files.cc.

#include <span>

#include "wire/page_files.h"

namespace tickstack::serve {

// Threads: any.
std::span<const wire::PageFile> PageFiles();

}  // namespace tickstack::serve
