// A cluster of Kubernetes for tests, in one program: the real control plane, and a node that runs the
// commands of its pods as processes of this machine.
//
//	cluster run DIR      starts everything, prints `ready`, and ends with its standard input
//	cluster kubectl …    the real kubectl
//
// DIR/kubeconfig is written for kubectl.
package main

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "expected `run DIR` or `kubectl …`")
		os.Exit(2)
	}
	part := os.Args[1]
	os.Args = append([]string{part}, os.Args[2:]...)
	switch part {
	case "run":
		fail(run(os.Args[1]))
	case "etcd":
		fail(etcd(os.Args[1], os.Args[2], os.Args[3]))
	case "node":
		fail(node(os.Args[1], os.Args[2]))
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllers.NewControllerManagerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "kubectl":
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		fail(fmt.Errorf("there is no part %q", part))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// etcd serves clients at one address and, as it needs one, peers at another.
func etcd(dir, clients, peers string) error {
	config := embed.NewConfig()
	config.Dir = dir
	config.LogLevel = "error"
	config.UnsafeNoFsync = true
	config.ListenClientUrls = urls(clients)
	config.AdvertiseClientUrls = urls(clients)
	config.ListenPeerUrls = urls(peers)
	config.AdvertisePeerUrls = urls(peers)
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	return <-server.Err()
}
