package main

import (
	"context"
	"fmt"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

const (
	workers = 5
	resync  = 10 * time.Minute
	// A test installs a definition and expects collection at once; kube-controller-manager looks for
	// new kinds every 30 s.
	newKindsPeriod = time.Second
)

func newControllersCommand() *cobra.Command {
	var kubeconfig string
	command := &cobra.Command{
		Use:          "test-controllers",
		Short:        "Runs kube-controller-manager's garbage collector, namespace and role aggregation controllers",
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return fmt.Errorf("read %s: %w", kubeconfig, err)
			}
			config.QPS = -1 // no client-side limit: the API server is ours alone
			return runControllers(ctx, config)
		},
	}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "path of the administrator's kubeconfig")
	return command
}

// runControllers blocks until ctx ends. There is no leader election: one copy runs.
func runControllers(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(client, resync)
	all := informerfactory.NewInformerFactory(shared, metadatainformer.NewSharedInformerFactory(metadataClient, resync))
	informersStarted := make(chan struct{})

	namespaces := namespace.NewNamespaceController(ctx, client, metadataClient,
		client.Discovery().ServerPreferredNamespacedResources, shared.Core().V1().Namespaces(), resync, v1.FinalizerKubernetes)
	roles := clusterroleaggregation.NewClusterRoleAggregation(shared.Rbac().V1().ClusterRoles(), client.RbacV1())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	collector, err := garbagecollector.NewGarbageCollector(ctx, client, metadataClient, mapper,
		garbagecollector.DefaultIgnoredResources(), all, informersStarted)
	if err != nil {
		return err
	}

	all.Start(ctx.Done())
	close(informersStarted)

	var running sync.WaitGroup
	running.Go(func() { namespaces.Run(ctx, workers) })
	running.Go(func() { roles.Run(ctx, workers) })
	running.Go(func() { collector.Run(ctx, workers, newKindsPeriod) })
	running.Go(func() { collector.Sync(ctx, client.Discovery(), newKindsPeriod) })
	running.Wait()
	return nil
}
