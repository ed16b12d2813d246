/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/thirdparty/thirdPartyHeapBuffers.hpp"

bool ThirdPartyHeapBuffers::_exist = false;
size_t ThirdPartyHeapBuffers::_extra_header_bytes = 0;
address ThirdPartyHeapBuffers::_valid_object_bits = NULL;
