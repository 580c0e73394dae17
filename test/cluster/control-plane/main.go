// The control plane of the demo and the integration tests: etcd, kube-apiserver, the three
// controllers the tests need and kubectl in one program. The name it is called by chooses the part,
// so links named etcd, kube-apiserver, … make a folder that looks like KUBEBUILDER_ASSETS.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	_ "time/tzdata" // CronJob time zones on machines without a zone database

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	if os.Getenv("EXIT_WHEN_STDIN_CLOSES") == "true" {
		go exitWhenStdinCloses()
	}
	switch part := filepath.Base(os.Args[0]); part {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "test-controllers":
		os.Exit(cli.Run(newControllersCommand()))
	case "kubectl":
		runKubectl()
	default:
		fmt.Fprintf(os.Stderr, "%s: call this program as etcd, kube-apiserver, test-controllers or kubectl\n", part)
		os.Exit(2)
	}
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
