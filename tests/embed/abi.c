/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what a program that was compiled against glovebox.h relies on: the sizes of the
 * structures, and the place of each member. test_abi.py compares it with what is recorded.
 */
#include <glovebox.h>
#include <stddef.h>
#include <stdio.h>

#define SIZE(type) printf("%s %zu\n", #type, sizeof(type))
#define MEMBER(type, member) printf("%s.%s %zu\n", #type, #member, offsetof(type, member))

int main(void) {
  SIZE(glovebox_error);
  MEMBER(glovebox_error, size);
  MEMBER(glovebox_error, code);
  MEMBER(glovebox_error, message);
  MEMBER(glovebox_error, hint);
  SIZE(glovebox_options);
  MEMBER(glovebox_options, size);
  MEMBER(glovebox_options, words);
  MEMBER(glovebox_options, word_count);
  MEMBER(glovebox_options, programs);
  MEMBER(glovebox_options, log);
  SIZE(glovebox_request);
  MEMBER(glovebox_request, size);
  MEMBER(glovebox_request, method);
  MEMBER(glovebox_request, target);
  MEMBER(glovebox_request, body);
  MEMBER(glovebox_request, body_size);
  MEMBER(glovebox_request, content_type);
  MEMBER(glovebox_request, headers);
  MEMBER(glovebox_request, header_count);
  MEMBER(glovebox_request, silence_ms);
  MEMBER(glovebox_request, most_body);
  MEMBER(glovebox_request, on_piece);
  MEMBER(glovebox_request, data);
  printf("codes %d %d %d %d %d %d %d %d %d %d\n", GLOVEBOX_OK, GLOVEBOX_INVALID, GLOVEBOX_NOT_FOUND,
         GLOVEBOX_CONFLICT, GLOVEBOX_EXHAUSTED, GLOVEBOX_UNSUPPORTED, GLOVEBOX_UNAVAILABLE,
         GLOVEBOX_REFUSED, GLOVEBOX_INTERNAL, GLOVEBOX_STOPPED);
  return 0;
}
