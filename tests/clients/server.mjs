// SPDX-License-Identifier: Apache-2.0
// Answers over TLS with the version of HTTP that was spoken; at /ws it repeats one short message of a
// WebSocket (RFC 6455). Usage: node server.mjs CERTIFICATE-AND-KEY; prints its port.
import crypto from 'node:crypto'
import fs from 'node:fs'
import http2 from 'node:http2'

const pem = fs.readFileSync(process.argv[2])
const server = http2.createSecureServer({ key: pem, cert: pem, allowHTTP1: true })
server.on('request', (request, response) => {
  response.setHeader('content-type', 'text/plain')
  response.end(`HTTP/${request.httpVersion}`)
})
server.on('upgrade', (request, socket, early) => {
  const accept = crypto.createHash('sha1')
    .update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64')
  socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
               `Sec-WebSocket-Accept: ${accept}\r\n\r\n`)
  socket.on('error', () => {})
  let heard = Buffer.alloc(0)
  const hear = piece => {
    heard = Buffer.concat([heard, piece])
    while (heard.length > 1) {
      const size = heard[1] & 0x7f
      if (heard.length < 6 + size) return
      if ((heard[0] & 0x0f) === 8) return socket.end(Buffer.from([0x88, 0x00]))
      const text = Buffer.from(heard.subarray(6, 6 + size).map((byte, at) => byte ^ heard[2 + at % 4]))
      heard = heard.subarray(6 + size)
      socket.write(Buffer.concat([Buffer.from([0x81, size]), text]))
    }
  }
  socket.on('data', hear)
  hear(early)
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
