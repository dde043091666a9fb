/* SPDX-License-Identifier: Apache-2.0 */
/* Glovebox inside your program: sandboxes without a daemon to install or to start.
 *
 * glovebox_open() starts an engine: processes of Glovebox that serve this program alone and end
 * with it. Everything else is the REST API (api/openapi.yaml), over a connection that has no name:
 * glovebox_call() makes one request, glovebox_connect() gives the connection itself. See
 * docs/embedding.md.
 *
 *     glovebox_engine *engine;
 *     glovebox_error error = {.size = sizeof error};
 *     if (glovebox_open(NULL, &engine, &error) != GLOVEBOX_OK) { ... }
 *     glovebox_request request = {
 *         .size = sizeof request, .method = "POST", .target = "/v1/run",
 *         .body = "{\"language\":\"python\",\"code\":\"print(6*7)\"}"};
 *     glovebox_response *response;
 *     if (glovebox_call(engine, &request, &response, &error) == GLOVEBOX_OK) {
 *       puts(glovebox_response_body(response, NULL));
 *       glovebox_response_free(response);
 *     }
 *     glovebox_close(engine);
 *
 * Threads: all functions may be called from several threads at once, also with one engine;
 * glovebox_close() is the last call with its engine, and glovebox_response_free() with its
 * response. None may be called in a signal handler. After fork(2), the child shares the engine,
 * which ends with the process that opened it.
 *
 * What the program does not notice: no signal handler, signal mask, environment variable, umask or
 * working directory changes, no thread is started, no child appears to wait(2), SIGCHLD and SIGPIPE
 * are not raised, and every descriptor is closed on exec.
 *
 * The ABI: structures begin with their size, and grow only at their end; functions and codes are
 * only added. An older library refuses a larger structure of a newer header unless the extra bytes
 * are zero.
 */
#ifndef GLOVEBOX_H
#define GLOVEBOX_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct glovebox_engine glovebox_engine;
typedef struct glovebox_response glovebox_response;

/* What a function returns. */
enum {
  GLOVEBOX_OK = 0,
  GLOVEBOX_INVALID = 1,     /* The call is wrong, and will be wrong again. */
  GLOVEBOX_NOT_FOUND = 2,   /* There is no such thing: the programs of Glovebox, for example. */
  GLOVEBOX_CONFLICT = 3,    /* Something is in a state that forbids it. */
  GLOVEBOX_EXHAUSTED = 4,   /* A limit was reached; a later try may succeed. */
  GLOVEBOX_UNSUPPORTED = 5, /* This machine cannot do it. */
  GLOVEBOX_UNAVAILABLE = 6, /* The engine has ended, or does not respond. */
  GLOVEBOX_REFUSED = 7,     /* It is not allowed. */
  GLOVEBOX_INTERNAL = 8,    /* A bug, or an error of the kernel that nobody planned for. */
  GLOVEBOX_STOPPED = 9      /* glovebox_request.on_piece returned something other than 0. */
};

/* Why a function failed. Every function accepts NULL instead. */
typedef struct glovebox_error {
  size_t size;        /* sizeof(glovebox_error) */
  int code;           /* As the function returns it. */
  char message[1024]; /* In lower case, without a full stop. */
  char hint[1024];    /* What to do about it; may be empty. */
} glovebox_error;

/* How to start an engine. Zero always means the default. */
typedef struct glovebox_options {
  size_t size; /* sizeof(glovebox_options) */
  /* Options of `glovebox serve`, one word each: {"--network", "public"}. Without --data, the engine
   * has a directory of its own, which is removed at its end. */
  const char* const* words;
  size_t word_count;
  /* The directory of glovebox-daemon; by default ../libexec/glovebox from the library, or else
   * /usr/libexec/glovebox. */
  const char* programs;
  /* A descriptor to which the engine writes its log. It stays yours. 0: no log. */
  int log;
} glovebox_options;

/* One request of the REST API. */
typedef struct glovebox_request {
  size_t size;        /* sizeof(glovebox_request) */
  const char* method; /* "GET", "POST", ... */
  const char* target; /* Path and query: "/v1/run" */
  const char* body;
  size_t body_size;           /* 0 with a body: the body ends with a NUL. */
  const char* content_type;   /* Of the body; NULL: application/json. */
  const char* const* headers; /* Further ones: {"Accept: application/x-ndjson"} */
  size_t header_count;        /* 64 at most. */
  unsigned int silence_ms;    /* Longest wait for a next byte; 0: as long as it takes. */
  size_t most_body;           /* Of the response; 0: 64 MiB. More is GLOVEBOX_EXHAUSTED. */
  /* Takes the body of a response with a status below 400 in pieces, as they come, and without the
   * bound; the response then has none. Anything but 0 ends the call and its connection. */
  int (*on_piece)(void* data, const char* piece, size_t size);
  void* data; /* For on_piece. */
} glovebox_request;

/* The version of the library, such as "0.1.0". Never fails. */
const char* glovebox_version(void);

/* Starts an engine and waits until it accepts requests, 60 seconds at most. Python interpreters are
 * then warmed up in the background: GET /healthz says "ready": true once the first one waits.
 * `options` may be NULL. GLOVEBOX_NOT_FOUND if the programs of Glovebox are not there; if the
 * engine itself cannot start, its own error. */
int glovebox_open(const glovebox_options* options, glovebox_engine** engine, glovebox_error* error);

/* A new connection to the engine, which speaks HTTP/1.1 with the REST API and needs no key: a
 * blocking stream socket. It is yours to close, and may outlive glovebox_close(). For clients with
 * their own HTTP code, and for WebSockets. GLOVEBOX_UNAVAILABLE if the engine has ended. */
int glovebox_connect(glovebox_engine* engine, int* connection, glovebox_error* error);

/* Makes one request and waits for the response, whatever its status: GLOVEBOX_OK says only that
 * there is one. The response is yours to free; it is NULL if the call failed. If it failed with
 * GLOVEBOX_UNAVAILABLE, the engine may have acted on the request nevertheless. */
int glovebox_call(glovebox_engine* engine,
                  const glovebox_request* request,
                  glovebox_response** response,
                  glovebox_error* error);

int glovebox_response_status(const glovebox_response* response);
/* Ends with a NUL, which `size` does not count. `size` may be NULL. Lives as long as the
 * response. */
const char* glovebox_response_body(const glovebox_response* response, size_t* size);
/* The value of a header, whose name may be in any case; NULL if absent. Lives likewise. */
const char* glovebox_response_header(const glovebox_response* response, const char* name);
/* Takes NULL, too. */
void glovebox_response_free(glovebox_response* response);

/* Ends the engine with all its sandboxes, waits for that, and frees it: an engine that takes longer
 * than 30 seconds is killed. Takes NULL, too. In a child after fork(2), it ends nothing. */
void glovebox_close(glovebox_engine* engine);

#ifdef __cplusplus
}
#endif

#endif /* GLOVEBOX_H */
