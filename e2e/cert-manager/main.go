// Command cert-manager runs a part of the cert-manager project: the controllers for a Certificate that an Issuer of this cluster
// signs, and the controller that writes the caBundle of MutatingWebhookConfigurations. ACME, Vault and Venafi are left out, and
// with them the cloud libraries. Its webhook is left out, too, since the CRDs' schemas check the objects.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	// Each of these registers itself with the package controller.
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
)

const workers = 2

func main() {
	// A separate flag set, since controller-runtime puts a flag of the same name into the default one.
	flags := flag.NewFlagSet("cert-manager", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "of an administrator of the cluster; empty: the pod's own account")
	namespace := flags.String("cluster-resource-namespace", "cert-manager", "where ClusterIssuers have their Secrets")
	_ = flags.Parse(os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, *namespace); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, namespace string) error {
	ctrl.SetLogger(klog.Background())
	running, ctx := errgroup.WithContext(ctx)
	if err := issue(ctx, running, kubeconfig, namespace); err != nil {
		return err
	}
	if err := inject(ctx, running, kubeconfig); err != nil {
		return err
	}
	return running.Wait()
}

// issue starts the controllers that turn Certificates into Secrets.
func issue(ctx context.Context, running *errgroup.Group, kubeconfig, namespace string) error {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:         kubeconfig,
		KubernetesAPIQPS:   50,
		KubernetesAPIBurst: 100,
		IssuerOptions:      controller.IssuerOptions{ClusterResourceNamespace: namespace},
	})
	if err != nil {
		return fmt.Errorf("reaching the API with %q: %w", kubeconfig, err)
	}
	known := controller.Known()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		one, err := known[name](factory)
		if err != nil {
			return fmt.Errorf("making the controller %s: %w", name, err)
		}
		klog.InfoS("starting", "controller", name)
		running.Go(func() error { return one.Run(workers, ctx) })
	}
	// All contexts share their informers, so any will do to start them.
	shared, err := factory.Build()
	if err != nil {
		return fmt.Errorf("starting the informers: %w", err)
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	return nil
}

// inject starts the controller that copies the CA of a Certificate into the webhooks that name it.
func inject(ctx context.Context, running *errgroup.Group, kubeconfig string) error {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, certmanager.AddToScheme} {
		if err := add(known); err != nil {
			return err
		}
	}
	api, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading %q: %w", kubeconfig, err)
	}
	manager, err := ctrl.NewManager(api, ctrl.Options{Scheme: known, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return fmt.Errorf("reaching the API with %q: %w", kubeconfig, err)
	}
	err = cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor:        map[string]bool{cainjector.MutatingWebhookConfigurationName: true},
	})
	if err != nil {
		return err
	}
	running.Go(func() error { return manager.Start(ctx) })
	return nil
}
