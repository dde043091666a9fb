/* SPDX-License-Identifier: Apache-2.0 */
/* Times the library libglovebox alone, over glovebox.h.
 *
 *   embed-loop [RUNS [OPTION...]]        options of `glovebox serve`
 *
 *   open      from nothing to an engine that accepts requests
 *   cold      from nothing to the first result
 *   first     in an engine that is warm: a new sandbox, and the first result in its interpreter;
 *             `create` is its first part
 *   cell      `6*7` in a living interpreter
 *
 * Prints one JSON object, in microseconds. Pauses between sandboxes, so that the engine can follow:
 * what is measured is a sandbox that waits, not the making of another one beside it.
 */
#include <glovebox.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b) {
  const double left = *(const double *)a;
  const double right = *(const double *)b;
  return (left > right) - (left < right);
}

static void print_statistics(const char *name, double *times, int count) {
  qsort(times, (size_t)count, sizeof *times, compare);
  printf(", \"%s\": {\"runs\": %d, \"p50\": %.0f, \"p95\": %.0f, \"min\": %.0f}", name, count,
         times[count / 2], times[count * 95 / 100], times[0]);
}

static void fail(const char *what, const char *why) {
  fprintf(stderr, "embed-loop: %s: %s\n", what, why);
  exit(1);
}

static glovebox_response *ask(glovebox_engine *engine, const char *method, const char *target,
                              const char *body) {
  glovebox_request request = {
      .size = sizeof request, .method = method, .target = target, .body = body};
  glovebox_error error = {.size = sizeof error};
  glovebox_response *response;
  if (glovebox_call(engine, &request, &response, &error) != GLOVEBOX_OK) {
    fail(target, error.message);
  }
  if (glovebox_response_status(response) >= 400) {
    fail(target, glovebox_response_body(response, NULL));
  }
  return response;
}

static void new_sandbox(glovebox_engine *engine, char *target, size_t room) {
  glovebox_response *response = ask(engine, "POST", "/v1/sandboxes", "{}");
  const char *id = strstr(glovebox_response_body(response, NULL), "\"id\":\"");
  if (id == NULL) {
    fail("new sandbox", "no id");
  }
  id += strlen("\"id\":\"");
  snprintf(target, room, "/v1/sandboxes/%.*s", (int)strcspn(id, "\""), id);
  glovebox_response_free(response);
}

static void execute(glovebox_engine *engine, const char *sandbox) {
  char target[160];
  snprintf(target, sizeof target, "%s/contexts/default/execute", sandbox);
  glovebox_response *response = ask(engine, "POST", target, "{\"code\":\"6*7\"}");
  if (strstr(glovebox_response_body(response, NULL), "\"42\"") == NULL) {
    fail("6*7", glovebox_response_body(response, NULL));
  }
  glovebox_response_free(response);
}

static void wait_until_warm(glovebox_engine *engine) {
  for (;;) {
    glovebox_response *response = ask(engine, "GET", "/healthz", NULL);
    const int ready = strstr(glovebox_response_body(response, NULL), "\"ready\":true") != NULL;
    glovebox_response_free(response);
    if (ready) {
      return;
    }
    poll(NULL, 0, 20);
  }
}

int main(int count, char **words) {
  const int runs = count > 1 ? atoi(words[1]) : 200;
  double *times = runs > 0 ? calloc((size_t)runs, sizeof *times) : NULL;
  double *created = runs > 0 ? calloc((size_t)runs, sizeof *created) : NULL;
  if (times == NULL || created == NULL) {
    fail("runs", "write a number");
  }
  glovebox_engine *engine;
  glovebox_error error = {.size = sizeof error};
  glovebox_options options = {.size = sizeof options, .words = (const char *const *)words + 2,
                              .word_count = count > 2 ? (size_t)count - 2 : 0};
  const double begun = now();
  if (glovebox_open(&options, &engine, &error) != GLOVEBOX_OK) {
    fail(error.message, error.hint);
  }
  const double opened = now();
  char sandbox[128];
  new_sandbox(engine, sandbox, sizeof sandbox);
  execute(engine, sandbox);
  printf("{\"open\": %.0f, \"cold\": %.0f", opened - begun, now() - begun);
  for (int i = 0; i < runs; ++i) {
    const double before = now();
    execute(engine, sandbox);
    times[i] = now() - before;
  }
  print_statistics("cell", times, runs);
  glovebox_response_free(ask(engine, "DELETE", sandbox, NULL));
  for (int i = 0; i < runs; ++i) {
    wait_until_warm(engine);
    poll(NULL, 0, 100);
    const double before = now();
    new_sandbox(engine, sandbox, sizeof sandbox);
    created[i] = now() - before;
    execute(engine, sandbox);
    times[i] = now() - before;
    glovebox_response_free(ask(engine, "DELETE", sandbox, NULL));
  }
  print_statistics("first", times, runs);
  print_statistics("create", created, runs);
  printf("}\n");
  glovebox_close(engine);
  free(times);
  free(created);
  return 0;
}
