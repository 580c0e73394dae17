// workload is what the tests of the node run in Pods: `serve` answers HTTP with its host's name,
// `get` asks until it is answered, and `allocate` takes memory until it is stopped.
package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const usage = "usage: workload serve | get URL | allocate"

func main() {
	switch arguments := os.Args[1:]; {
	case len(arguments) == 1 && arguments[0] == "serve":
		serve()
	case len(arguments) == 2 && arguments[0] == "get":
		get(arguments[1])
	case len(arguments) == 1 && arguments[0] == "allocate":
		allocate()
	default:
		fail(errors.New(usage))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func serve() {
	name, err := os.Hostname()
	if err != nil {
		fail(err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		os.Exit(0)
	}()
	http.HandleFunc("/", func(reply http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(reply, "hello from %s\n", name)
	})
	fmt.Println("serving")
	fail(http.ListenAndServe(":8000", nil))
}

func get(url string) {
	client := http.Client{Timeout: 2 * time.Second}
	deadline := time.Now().Add(20 * time.Second)
	for {
		reply, err := client.Get(url)
		if err == nil {
			_, _ = io.Copy(os.Stdout, reply.Body)
			return
		}
		if time.Now().After(deadline) {
			fail(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func allocate() {
	var kept [][]byte
	for {
		block := make([]byte, 1<<20)
		for at := range block {
			block[at] = 1
		}
		kept = append(kept, block)
		fmt.Println(len(kept), "MiB")
	}
}
