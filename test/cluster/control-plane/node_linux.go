package main

import (
	"context"

	"github.com/spf13/cobra"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// What a machine needs besides the control plane to run Pods.
func init() {
	parts["kube-controller-manager"] = runCommand(controllermanager.NewControllerManagerCommand)
	parts["kube-scheduler"] = runCommand(func() *cobra.Command { return scheduler.NewSchedulerCommand() })
	parts["kube-proxy"] = runCommand(proxy.NewProxyCommand)
	parts["kubelet"] = runCommand(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) })
}
