// The control plane of the demo and the integration tests: etcd, kube-apiserver, the three
// controllers the tests need and kubectl in one program; on Linux also what a node needs to run
// Pods. The name it is called by chooses the part, so links named etcd, kube-apiserver, … make a
// folder that looks like KUBEBUILDER_ASSETS.
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // CronJob time zones on machines without a zone database

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// parts run to the end of the process; other files add theirs.
var parts = map[string]func(){
	"etcd":             func() { etcdmain.Main(os.Args) },
	"kube-apiserver":   runCommand(apiserver.NewAPIServerCommand),
	"test-controllers": runCommand(newControllersCommand),
	"kubectl":          runKubectl,
}

func runCommand(newCommand func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(newCommand())) }
}

func main() {
	if os.Getenv("EXIT_WHEN_STDIN_CLOSES") == "true" {
		go exitWhenStdinCloses()
	}
	name := filepath.Base(os.Args[0])
	run, ok := parts[name]
	if !ok {
		names := slices.Sorted(maps.Keys(parts))
		fmt.Fprintf(os.Stderr, "%s: call this program as one of %s\n", name, strings.Join(names, ", "))
		os.Exit(2)
	}
	run()
}

// exitWhenStdinCloses keeps a server from outliving the process that holds the other end of its
// stdin, whatever ended that process.
func exitWhenStdinCloses() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}

func runKubectl() {
	_, _ = logs.GlogSetter(cmd.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		cmdutil.CheckErr(err)
	}
}
