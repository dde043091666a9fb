package main

import "os"

func main() {
	println(os.Args[len(os.Args)])
}
