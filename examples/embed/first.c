/* SPDX-License-Identifier: Apache-2.0 */
/* Glovebox in a C program: a sandbox, two cells in one interpreter, a file. */
#include <glovebox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static glovebox_engine *engine;

/* Makes a request and returns its response, which must be a success. */
static glovebox_response *ask(const char *method, const char *target, const char *body) {
  glovebox_request request = {
      .size = sizeof request, .method = method, .target = target, .body = body};
  glovebox_error error = {.size = sizeof error};
  glovebox_response *response;
  if (glovebox_call(engine, &request, &response, &error) != GLOVEBOX_OK) {
    fprintf(stderr, "%s: %s; hint: %s\n", target, error.message, error.hint);
    exit(1);
  }
  if (glovebox_response_status(response) >= 400) {
    fprintf(stderr, "%s: %s", target, glovebox_response_body(response, NULL));
    exit(1);
  }
  return response;
}

/* The text of a member; a program would use its own reader of JSON. */
static void copy_member(const char *json, const char *name, char *into, size_t room) {
  char start[32];
  snprintf(start, sizeof start, "\"%s\":\"", name);
  const char *text = strstr(json, start);
  size_t size = 0;
  if (text != NULL) {
    text += strlen(start);
    size = strcspn(text, "\"");
    size = size < room ? size : room - 1;
    memcpy(into, text, size);
  }
  into[size] = '\0';
}

int main(void) {
  glovebox_error error = {.size = sizeof error};
  if (glovebox_open(NULL, &engine, &error) != GLOVEBOX_OK) {
    fprintf(stderr, "%s; hint: %s\n", error.message, error.hint);
    return 1;
  }

  char id[64];
  glovebox_response *response = ask("POST", "/v1/sandboxes", "{}");
  copy_member(glovebox_response_body(response, NULL), "id", id, sizeof id);
  glovebox_response_free(response);

  char target[160];
  snprintf(target, sizeof target, "/v1/sandboxes/%s/contexts/default/execute", id);
  glovebox_response_free(ask("POST", target, "{\"code\": \"x = 6\"}"));
  response = ask("POST", target,
                 "{\"code\": \"open('answer.txt', 'w').write(str(x * 7))\\nprint('written', end='')\"}");
  char out[64];
  copy_member(glovebox_response_body(response, NULL), "stdout", out, sizeof out);
  printf("the code printed: %s\n", out);
  glovebox_response_free(response);

  snprintf(target, sizeof target, "/v1/sandboxes/%s/files/answer.txt", id);
  response = ask("GET", target, NULL);
  printf("the file contains: %s\n", glovebox_response_body(response, NULL));
  glovebox_response_free(response);

  glovebox_close(engine); /* Ends the sandbox, too. */
  return 0;
}
