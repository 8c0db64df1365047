#pragma once

// The headers that most tests include, precompiled for all of them. A test still includes what it
// uses; without precompiled headers this file has no effect.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
