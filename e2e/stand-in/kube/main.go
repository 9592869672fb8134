// Command kube is every Kubernetes binary of a node in one file: it runs the one by whose name it is
// called. The binaries share most of their code, so one is linked instead of six.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	name := filepath.Base(os.Args[0])
	if name == "kubectl" {
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			kubectlutil.CheckErr(err)
		}
		return
	}
	command := daemon(name)
	if command == nil {
		fmt.Fprintf(os.Stderr, "%s is no Kubernetes command that this binary holds\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(command))
}

func daemon(name string) *cobra.Command {
	switch name {
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		return controllers.NewControllerManagerCommand()
	case "kube-proxy":
		return proxy.NewProxyCommand()
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand()
	case "kubelet":
		return kubeletCommand(kubelet.NewKubeletCommand)
	default:
		return nil
	}
}

// kubeletCommand calls the kubelet's constructor, which takes a context from some version on.
func kubeletCommand(constructor any) *cobra.Command {
	switch newCommand := constructor.(type) {
	case func() *cobra.Command:
		return newCommand()
	case func(context.Context) *cobra.Command:
		return newCommand(context.Background())
	default:
		panic(fmt.Sprintf("the kubelet's constructor is a %T here", constructor))
	}
}
