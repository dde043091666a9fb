#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# find() changes the order; a key that is put again has one place; what goes is erased first.
sed -i 's/(const Key& key) const {/(const Key\& key) {/; s/found->second.second;/found->second->second;/' cache.h
sed -i 's/^    order_.emplace_front/    if (auto old = places_.find(key); old != places_.end()) order_.erase(old->second);\n&/' cache.h
sed -i '/^      order_.pop_back();/d; s/^      places_.erase.*/&\n      order_.pop_back();/' cache.h
sed -i 's/std::map<Key, std::list/std::map<Key, typename std::list/' cache.h
