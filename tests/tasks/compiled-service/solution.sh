#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
set -e
# The rule makes no object, the port lacks htons(), main() returns nothing, and one path is to be unknown.
sed -i 's|-O2 \$<|-O2 -c -o $@ $<|' Makefile
sed -i 's|.sin_port = 8080|.sin_port = htons(8080)|; s|return perror("listen");|{ perror("listen"); return 1; }|' server.c
sed -i 's|  request\[got\] = 0;|  request[got > 0 ? got : 0] = 0;|' server.c
sed -i 's|  const char \*text = .*|  const char *text = strncmp(request, "GET /health ", 12) ? "HTTP/1.0 404 Not Found\\r\\n\\r\\n" : "HTTP/1.0 200 OK\\r\\n\\r\\nup\\n";|' server.c
sed -i 's|  write(client, text, strlen(text));|  if (write(client, text, strlen(text)) < 0) perror("write");|' server.c
make
setsid ./server < /dev/null > server.log 2>&1 &
for _ in $(seq 100); do (exec 3<> /dev/tcp/127.0.0.1/8080) 2> /dev/null && exit 0; sleep 0.1; done
exit 1
