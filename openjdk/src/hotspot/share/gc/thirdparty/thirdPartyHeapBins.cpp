/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/thirdparty/thirdPartyHeapBins.hpp"

ThirdPartyHeapBinTable ThirdPartyHeapBins::_table;
