// SPDX-License-Identifier: Apache-2.0
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	pem, err := os.ReadFile(os.Args[3])
	check(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	transport := &http.Transport{
		Proxy:             http.ProxyFromEnvironment,
		TLSClientConfig:   &tls.Config{RootCAs: pool},
		ForceAttemptHTTP2: os.Args[1] == "http2",
	}
	answer, err := (&http.Client{Transport: transport}).Get("https://" + os.Args[2] + "/")
	check(err)
	body, err := io.ReadAll(answer.Body)
	check(err)
	fmt.Println(string(body))
}
