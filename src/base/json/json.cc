// SPDX-License-Identifier: Apache-2.0
#include "base/json/json.h"

GB_JSON_TEMPLATES(, basic_json<>)
