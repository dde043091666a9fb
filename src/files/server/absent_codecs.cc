// SPDX-License-Identifier: Apache-2.0
// libarchive's reader of zip names these functions of other libraries, for kinds of compression
// that hardly any zip has (xz, bzip2, Zstandard) and for encryption. They are left out of a program
// that lives among guests: here each decoder fails at its beginning, which libarchive reports as an
// entry that cannot be read. The ciphers need a passphrase first, and nobody gives one.
#include <cstddef>

extern "C" {

// lzma/base.h: LZMA_OPTIONS_ERROR.
int lzma_stream_decoder(void*, unsigned long, unsigned) { return 8; }
int lzma_alone_decoder(void*, unsigned long) { return 8; }
int lzma_code(void*, int) { return 8; }
void lzma_end(void*) {}

// NOLINTBEGIN(readability-identifier-naming): theirs.
// bzlib.h: BZ_CONFIG_ERROR.
int BZ2_bzDecompressInit(void*, int, int) { return -9; }
int BZ2_bzDecompress(void*) { return -9; }
int BZ2_bzDecompressEnd(void*) { return -9; }

// zstd.h: no stream could be made.
void* ZSTD_createDStream() { return nullptr; }
std::size_t ZSTD_initDStream(void*) { return 1; }
std::size_t ZSTD_decompressStream(void*, void*, void*) { return 1; }
std::size_t ZSTD_DStreamOutSize() { return 1; }
std::size_t ZSTD_freeDStream(void*) { return 0; }
unsigned ZSTD_isError(std::size_t) { return 1; }
const char* ZSTD_getErrorName(std::size_t) { return "not supported"; }
// NOLINTEND(readability-identifier-naming)

// nettle: never reached.
[[noreturn]] void nettle_pbkdf2_hmac_sha1() { __builtin_trap(); }
[[noreturn]] void nettle_hmac_sha1_set_key() { __builtin_trap(); }
[[noreturn]] void nettle_hmac_sha1_update() { __builtin_trap(); }
[[noreturn]] void nettle_hmac_sha1_digest() { __builtin_trap(); }
[[noreturn]] void nettle_aes128_set_encrypt_key() { __builtin_trap(); }
[[noreturn]] void nettle_aes128_encrypt() { __builtin_trap(); }
[[noreturn]] void nettle_aes192_set_encrypt_key() { __builtin_trap(); }
[[noreturn]] void nettle_aes192_encrypt() { __builtin_trap(); }
[[noreturn]] void nettle_aes256_set_encrypt_key() { __builtin_trap(); }
[[noreturn]] void nettle_aes256_encrypt() { __builtin_trap(); }

}  // extern "C"
