package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
)

func main() {
	total := 0
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		value, _ := strconv.Atoi(lines.Text())
		total += value
	}
	fmt.Printf("Σ = %d ✓\n", total)
}
