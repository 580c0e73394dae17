// A peer of the operator for its benchmark: the same job, as a team that knows controller-runtime would write it.
// The marketplace's key comes from MARKETPLACE_API_KEY, the API server from KUBECONFIG.
package main

import (
	"flag"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	marketURL := flag.String("marketplace-url", "", "address of the marketplace")
	poll := flag.Int("poll-seconds", 10, "time between two lists")
	paced := flag.Bool("paced", false, "keep the pauses that the marketplace documents")
	tuned := flag.Bool("tuned", false, "32 workers, no limits of the clients, a cache without managed fields")
	namespace := flag.String("namespace", "default", "namespace to watch, and of the lease")
	flag.Parse()
	ctrl.SetLogger(zap.New())

	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(addToScheme(scheme))
	config := ctrl.GetConfigOrDie()
	options := manager.Options{
		Scheme:                        scheme,
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "peer.gpurental.dev",
		LeaderElectionNamespace:       *namespace,
		LeaderElectionReleaseOnCancel: true,
	}
	options.Cache.DefaultNamespaces = map[string]cache.Config{*namespace: {}}
	workers, connections := 1, 0
	if *tuned {
		workers, connections = 32, 100
		config.QPS = -1
		options.Cache.DefaultTransform = cache.TransformStripManagedFields()
	}
	mgr, err := ctrl.NewManager(config, options)
	exitOn(err)
	reconciler := &Reconciler{
		Client:   mgr.GetClient(),
		market:   newMarket(*marketURL, os.Getenv("MARKETPLACE_API_KEY"), connections, *paced),
		recorder: mgr.GetEventRecorder("gpu-instance"),
		poll:     time.Duration(*poll) * time.Second,
		changed:  make(chan event.GenericEvent),
	}
	exitOn(reconciler.SetupWithManager(mgr, workers))
	exitOn(mgr.Start(ctrl.SetupSignalHandler()))
}

func exitOn(err error) {
	if err != nil {
		ctrl.Log.Error(err, "the operator ends")
		os.Exit(1)
	}
}
